"""GATES: models on CPU designs in gates. gates: their tests, and a table of what they took."""

load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_measured", "bm_model_variant", "bm_run", "bm_runs")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

# Design, which is the name of its board -> the ISA of its kernels, and what the names of QEMU's and Spike's boards end in.
_DESIGNS = {
    "litex_cva6": ("rv64gc", "rv64"),
    "litex_ibex": ("rv32imc", "rv32"),
    "litex_vexriscv": ("rv32imc", "rv32"),
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
    """Returns dict from each ISA to the places that run its kernels: emulators, and the designs."""
    places = {}
    for design in designs:
        isa, width = _DESIGNS[design]
        emulators = ["qemu_virt_{}:scalar".format(width), "spike_{}:scalar".format(width)]
        places.setdefault(isa, emulators).append(design + ":rtl")
    return places

# Suffix of a design's images -> the environment in which their cycles are counted.
_MEMORIES = {
    "": "rtl",
    ".in_flash": "rtl_flash",
    ".in_flash.fast": "rtl_flash",
}

# The images whose kernels find weights in RAM that they read many times, and how much of it those may take.
_FAST = ".in_flash.fast"
_FAST_RAM = 64 << 10

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

def _measured(*, name, model, few, cases, board, isa):
    """Makes `<name>.report`, and the images `<name>.in_flash` and `.in_flash.fast`, with the cycles of every dispatch."""
    bm_model_variant(
        name = name + "._fast",
        fast_ram = _FAST_RAM,
        first_cases = cases,
        memories = "//boards/{}:flash.json".format(board),
        model = model,
    )
    for profile, profiled in {"._profile": few, "._profile.fast": name + "._fast"}.items():
        bm_firmware(
            name = name + profile,
            board = "//boards/" + board,
            isa = isa,
            models = [profiled],
            profile = True,
            run_env = "//boards/{}:rtl".format(board),
            tags = ["manual"],
        )
    for suffix, env in memories_of(board).items():
        env = "//boards/{}:{}".format(board, env)
        image = name + suffix
        used = name + "._fast" if suffix == _FAST else few
        if suffix:
            bm_firmware(
                name = image,
                board = "//boards/" + board,
                isa = isa,
                models = [used],
                run_env = env,
                tags = ["manual"] if "cache" in suffix or suffix == _FAST else [],
            )
        bm_run(
            name = image + "._profile.run",
            exec_env = env,
            firmware = name + ("._profile.fast" if suffix == _FAST else "._profile"),
            tags = ["manual"],
        )
        bm_measured(
            name = image,
            board = "//boards/" + board,
            exec_env = env,
            isa = isa,
            models = [used],
            run = image + "._profile.run",
        )

def gates(*, name):
    """Makes `<model>_<ISA>_test` for each model of GATES: the same bits in gates, in QEMU and on Spike.

    The images are `<model>.<design>`, and `<model>.<design>.in_flash`, which runs where the ROM is slow. Each has a
    `.report` with the cycles of every dispatch.

    Args:
      name: name of a program that prints a table of all runs.
    """
    args = []
    runs = []
    for (model, cases), designs in GATES.items():
        prefix = name_in_gates(model)
        few = prefix + "._few"

        # Gates take seconds for millions of cycles.
        bm_model_variant(
            name = few,
            first_cases = cases,
            model = model,
        )
        for isa, places in _places(designs).items():
            images = {design: "{}.{}".format(prefix, design) for design in designs if _DESIGNS[design][0] == isa}
            bm_runs(
                name = "{}_{}".format(prefix, isa),
                agree = True,
                images = images,
                models = [few],
                on = {isa: places},
                tags = EXHAUSTIVE if model in _EXHAUSTIVE else [],
            )
            for board, image in images.items():
                _measured(
                    name = image,
                    board = board,
                    cases = cases,
                    few = few,
                    isa = isa,
                    model = model,
                )
            for place in places:
                runs.append("{}_{}_{}.run".format(prefix, isa, place.replace(":", "_")))
                args += ["--run", prefix, isa, place.split(":")[0], "$(rootpath {})".format(runs[-1])]
    py_binary(
        name = name,
        srcs = [Label("//tools/report:gates.py")],
        args = args,
        data = runs,
        main = Label("//tools/report:gates.py"),
        tags = ["manual"],
        deps = [Label("//tools/report:gates_lib")],
    )
