"""GATES: models on CPU designs in gates. gates_tests: their tests. gates_table: what they took."""

load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_model_variant", "bm_runs_test")

# Design, which is the name of its board -> the ISA of its kernels, and other environments of that ISA: the board and the
# environment.
_DESIGNS = {
    "litex_cva6": ("rv64gc", [("qemu_virt_rv64", "scalar"), ("spike_rv64", "scalar")]),
    "litex_ibex": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
    "litex_vexriscv": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
}

# Model, and how many of its cases run -> the CPU designs in gates on which they run.
GATES = {
    ("//models/ad:ad_int8", 1): ["litex_vexriscv"],
    ("//models/ds_cnn:ds_cnn_int8", 1): ["litex_vexriscv"],
    ("//models/mlp:mlp", 2): _DESIGNS.keys(),
    ("//models/mlp:mlp_int8", 2): _DESIGNS.keys(),
    ("//models/resnet8:resnet8_int8", 1): ["litex_vexriscv"],
}

def name_in_gates(model):
    """Returns the prefix of a model's targets here."""
    return model.rpartition(":")[2]

def _places(designs):
    """Returns dict from each ISA to the boards and environments that run its kernels: emulators, and the designs."""
    places = {}
    for design in designs:
        isa, emulators = _DESIGNS[design]
        places.setdefault(isa, list(emulators)).append((design, "rtl"))
    return places

def gates_tests(*, name, model, designs, cases = 1):
    """Makes the images `<name>.<design>`, and `<name>_<ISA>_test`: the same bits there, in QEMU and on Spike.

    Args:
      name: prefix of the targets.
      model: bm_model.
      designs: boards with the environment `:rtl`.
      cases: how many of the model's first cases run; gates take seconds for millions of cycles.
    """
    few = name + "._few"
    bm_model_variant(
        name = few,
        first_cases = cases,
        model = model,
    )
    for isa, places in _places(designs).items():
        firmwares = {}
        for board, env in places:
            image = "{}.{}".format(name, board)
            env = "//boards/{}:{}".format(board, env)
            firmwares[image] = [env]
            bm_firmware(
                name = image,
                board = "//boards/" + board,
                isa = isa,
                models = [few],
                run_env = env,
            )
        bm_runs_test(
            name = "{}_{}".format(name, isa),
            agree = True,
            firmwares = firmwares,
            tags = ["rtl"],
        )

def gates_table(*, name):
    """A program that prints a table of all runs.

    Args:
      name: name of the program.
    """
    args = []
    runs = []
    for (model, _), designs in GATES.items():
        for isa, places in _places(designs).items():
            for board, env in places:
                run = "{}_{}_{}_{}.run".format(name_in_gates(model), isa, board, env)
                runs.append(run)
                args += ["--run", name_in_gates(model), isa, board, "$(rootpath {})".format(run)]
    py_binary(
        name = name,
        srcs = [Label("//tools/size:gates.py")],
        args = args,
        data = runs,
        main = Label("//tools/size:gates.py"),
        tags = ["manual"],
        deps = [Label("//tools/size:gates_lib")],
    )
