"""new_board_test: a board fresh from //boards:new builds and boots."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/rules:defs.bzl", "bm_board", "bm_exec_env", "bm_firmware_test", "bm_image")

def new_board_test(*, name, env):
    """Makes a board, builds it as the template's BUILD file would, and boots it.

    Args:
      name: name of the new board.
      env: execution environment of the template.
    """
    files = [name + "/" + file for file in ["board.c", "board.json", "memory.ldh"]]
    native.genrule(
        name = name + "._files",
        srcs = ["//boards/template:files"],
        outs = files + [name + "/README.md"],
        # Without the BUILD file, which would make it a package.
        cmd = "$(execpath //boards:new) {0} --into made_boards > /dev/null && ".format(name) +
              "rm made_boards/{0}/BUILD.bazel && cp made_boards/{0}/* $(RULEDIR)/{0}".format(name),
        tools = ["//boards:new"],
    )
    cc_library(
        name = name + "._hal",
        srcs = [name + "/board.c"],
        tags = ["manual"],
        target_compatible_with = ["@platforms//cpu:riscv64"],
        deps = [
            "//boards/common:ns16550",
            "//boards/common:riscv",
            "//boards/common:sifive_test",
            "//runtime_bm/hal:hal_api",
        ],
    )
    bm_board(
        name = name,
        description = name + "/board.json",
        hal = name + "._hal",
        isa = "rv64gc",
        memory = name + "/memory.ldh",
        platform = "//boards:rv64_none",
        tags = ["manual"],
    )
    bm_exec_env(
        name = name + "._env",
        base = env,
        board = name,
    )
    bm_image(
        name = "pass._" + name,
        testonly = True,
        board = name,
        isa = "rv64gc",
        run_env = name + "._env",
        tags = ["manual"],
        deps = ["//runtime_bm/testing/firmwares:pass"],
    )
    bm_firmware_test(
        name = "pass",
        testonly = True,
        exec_envs = {name + "._env": ["qemu"]},
        firmware = "pass._" + name,
    )
