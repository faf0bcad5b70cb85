"""GATES: models on CPU designs in gates. gates_tests: their tests. gates_table: what they took."""

load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_measured", "bm_model_variant", "bm_run", "bm_runs")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

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

# A run takes half a minute, and a smaller network on the same design has the same operators.
_EXHAUSTIVE = ["//models/resnet8:resnet8_int8"]

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

# Suffix of a design's images -> the environment in which their cycles are counted.
_MEMORIES = {
    "": "rtl",
    ".in_flash": "rtl_flash",
}

# The same for designs that are there with other caches. What needs these simulators is not built by wildcards.
_CACHES = {
    "litex_vexriscv": {
        ".data_cache_16k": "rtl_data_cache_16k",
        ".data_cache_64k": "rtl_data_cache_64k",
    },
}

def memories_of(design):
    """Returns dict from the suffix of a design's images to the environment in which their cycles are counted."""
    return _MEMORIES | _CACHES.get(design, {})

def _measured(*, name, model, board, isa):
    """Makes `<name>.report`, and the image `<name>.in_flash`, its report and others, with the cycles of every dispatch."""
    bm_firmware(
        name = name + "._profile",
        board = "//boards/" + board,
        isa = isa,
        models = [model],
        profile = True,
        run_env = "//boards/{}:rtl".format(board),
        tags = ["manual"],
    )
    for suffix, env in memories_of(board).items():
        env = "//boards/{}:{}".format(board, env)
        image = name + suffix
        if suffix:
            bm_firmware(
                name = image,
                board = "//boards/" + board,
                isa = isa,
                models = [model],
                run_env = env,
                tags = ["manual"] if "cache" in suffix else [],
            )
        bm_run(
            name = image + "._profile.run",
            exec_env = env,
            firmware = name + "._profile",
            tags = ["manual"],
        )
        bm_measured(
            name = image,
            board = "//boards/" + board,
            exec_env = env,
            isa = isa,
            models = [model],
            run = image + "._profile.run",
        )

def gates_tests(*, name, model, designs, cases = 1):
    """Makes `<name>_<ISA>_test`: the same bits in gates, in QEMU and on Spike.

    The images are `<name>.<design>`, and `<name>.<design>.in_flash`, which runs where the ROM is slow. Each has a
    `.report` with the cycles of every dispatch.

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
        images = {board: "{}.{}".format(name, board) for board, _ in places if board in _DESIGNS}
        bm_runs(
            name = "{}_{}".format(name, isa),
            agree = True,
            images = images,
            models = [few],
            on = {isa: [":".join(place) for place in places]},
            tags = EXHAUSTIVE if model in _EXHAUSTIVE else [],
        )
        for board, image in images.items():
            _measured(
                name = image,
                board = board,
                isa = isa,
                model = few,
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
