"""hardware_tests: images for a board that no emulator has."""

load("@pypi//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "py_test")
load("//tools/rules:defs.bzl", "bm_debug", "bm_firmware", "bm_flash")

def hardware_tests(*, name, board, isa, models, harts = 1, hooks = {}, deps = []):
    """Makes `<model>_on_<board>`, its `.flash` and `.debug` for every model, and a test of the image's addresses and format.

    Args:
      name: unused; the targets are named after models and board.
      board: name of the board.
      isa: ISA of the kernels.
      harts: harts of the images.
      models: bm_model labels.
      deps: Python libraries of the board's flashing method.
      hooks: cc_library with a model's own console output, by the model's label.
    """
    for model in models:
        firmware = "{}_on_{}".format(Label(model).name, board)
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            harts = harts,
            hooks = hooks.get(model, "//runtime_bm/app:hooks_default"),
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
            visibility = ["//tools/debug:__pkg__"],
        )
        py_test(
            name = firmware + "_image_test",
            srcs = [Label("//boards/tests/hardware:image_test.py")],
            data = [firmware, firmware + ".flash", files, description],
            env = {
                "BOARD": "$(rootpath {})".format(description),
                "FLASH": "$(rootpath {}.flash)".format(firmware),
                "IMAGE": "$(rootpaths {})".format(files),
                "RUN": "$(rootpath {})".format(firmware),
            },
            main = Label("//boards/tests/hardware:image_test.py"),
            deps = deps + [requirement("pyelftools")],
        )
