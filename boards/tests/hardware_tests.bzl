"""hardware_tests: images for boards that no emulator has."""

load("@pypi//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "py_test")
load("//tools/rules:defs.bzl", "bm_debug", "bm_firmware", "bm_flash")

_LITTLE = ["//models/bert_tiny:bert_tiny_1x128", "//models/fixture"]

# Board -> ISA of the kernels, and models.
BOARDS = {
    "bpi_f3": ("rv64gcv_zvl256b", ["//models/bert", "//models/mlp"]),
    "canmv_k230": ("rv64gcv_zvl128b", _LITTLE),
    "esp32c6": ("rv32imac", ["//models/ad:ad_int8", "//models/fixture"]),
    "esp32p4": ("rv32imac", ["//models/fixture"]),
    # CPU designs in FPGAs. Their gates run too, by name only: //boards/litex_ulx3s:port.
    "litex_colorlight_i5": ("rv32imc", ["//models/fixture:fixture_int8"]),
    "litex_ulx3s": ("rv32imc", ["//models/fixture:fixture_int8"]),
    "visionfive2": ("rv64gc", _LITTLE),
}

# Python libraries of a board's flashing method, by the beginning of its name.
_DEPS = {"esp": [requirement("esptool")]}

# cc_library with a model's own console output.
_HOOKS = {"//models/bert": "//models/bert:ranking"}

def hardware_tests(*, name, boards, harts = {}):
    """Makes `<model>_on_<board>`, its `.flash` and `.debug` for every model, and a test of the image's addresses and format.

    Args:
      name: unused; the targets are named after models and boards.
      boards: dict from a board to the ISA of its kernels, and bm_model labels.
      harts: dict from a board to the harts of its images, if not one.
    """
    for board, (isa, models) in boards.items():
        for model in models:
            _hardware_test(board, isa, model, harts.get(board, 1))

def _hardware_test(board, isa, model, harts):
    firmware = "{}_on_{}".format(Label(model).name, board)
    bm_firmware(
        name = firmware,
        board = "//boards/" + board,
        harts = harts,
        hooks = _HOOKS.get(model, "//runtime_bm/app:hooks_default"),
        isa = isa,
        models = [model],
    )

    # Every file of the image: for an executable target, $(rootpaths) names only the executable.
    files = firmware + "._files"
    native.filegroup(name = files, srcs = [firmware], tags = ["manual"])
    description = "//boards/{}:board.json".format(board)
    bm_flash(
        name = firmware + ".flash",
        firmware = firmware,
        tags = ["manual"],
    )
    bm_debug(
        name = firmware + ".debug",
        firmware = firmware,
        tags = ["manual"],
        visibility = ["//tools/run/debug:__pkg__"],
    )
    py_test(
        name = firmware + "_image_test",
        srcs = [Label("//boards/tests:image_test.py")],
        data = [firmware, firmware + ".flash", files, description],
        env = {
            "BOARD": "$(rootpath {})".format(description),
            "FLASH": "$(rootpath {}.flash)".format(firmware),
            "IMAGE": "$(rootpaths {})".format(files),
            "RUN": "$(rootpath {})".format(firmware),
        },
        main = Label("//boards/tests:image_test.py"),
        deps = _DEPS.get(board[:3], []) + [requirement("pyelftools")],
    )
