"""gates_tests: models on CPU designs in gates. gates_table: what they took."""

load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_model_variant", "bm_runs_test")

# Design, which is the name of its board -> the ISA of its kernels, and other environments of that ISA: the board and the
# environment.
_DESIGNS = {
    "litex_cva6": ("rv64gc", [("qemu_virt_rv64", "scalar"), ("spike_rv64", "scalar")]),
    "litex_ibex": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
    "litex_vexriscv": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
}

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
    for isa in sorted({_DESIGNS[design][0]: None for design in designs}):
        ours = [design for design in designs if _DESIGNS[design][0] == isa]
        firmwares = {}
        for board, env in [(design, "rtl") for design in ours] + _DESIGNS[ours[0]][1]:
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

def gates_table(*, name, models):
    """A program that prints a table of the runs that gates_tests made.

    Args:
      name: name of the program.
      models: dict from the name of a model's tests to its designs, both as in gates_tests.
    """
    args = []
    runs = []
    for model, designs in models.items():
        for isa in sorted({_DESIGNS[design][0]: None for design in designs}):
            ours = [design for design in designs if _DESIGNS[design][0] == isa]
            for board, env in _DESIGNS[ours[0]][1] + [(design, "rtl") for design in ours]:
                run = "{}_{}_{}_{}.run".format(model, isa, board, env)
                runs.append(run)
                args += ["--run", model, isa, board, "$(rootpath {})".format(run)]
    py_binary(
        name = name,
        srcs = [Label("//tools/size:gates.py")],
        args = args,
        data = runs,
        main = Label("//tools/size:gates.py"),
        tags = ["manual"],
        deps = [Label("//tools/size:gates_lib")],
    )
