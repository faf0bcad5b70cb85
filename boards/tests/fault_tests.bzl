"""fault_tests: firmware that ends in every possible way, on every emulated board."""

load("//tools/rules:defs.bzl", "bm_firmware_test", "bm_image")

# Board -> its ISA without vectors, its largest VLEN, and environments with the tags of their tests.
_BOARDS = {
    "qemu_virt_rv32": struct(
        isa = "rv32imac",
        vlen = 256,
        envs = {"//boards/qemu_virt_rv32:vlen{}": ["qemu"]},
    ),
    "spike_rv32": struct(
        isa = "rv32imac",
        vlen = 256,
        envs = {"//boards/spike_rv32:vlen{}": ["spike"]},
    ),
    "qemu_virt_rv64": struct(
        isa = "rv64gc",
        vlen = 1024,
        envs = {"//boards/qemu_virt_rv64:vlen{}": ["qemu"]},
    ),
    "spike_rv64": struct(
        isa = "rv64gc",
        vlen = 1024,
        envs = {
            "//boards/spike_rv64:qemu_vlen{}": ["qemu"],
            "//boards/spike_rv64:vlen{}": ["spike"],
        },
    ),
}

def fault_test(*, name, firmware = "", expect, text = "", vlen = 256, isa = "", **kwargs):
    """Boots a firmware of //runtime_bm/testing/firmwares wherever it can run.

    Args:
      name: prefix of the tests.
      firmware: the firmware's name; default: `name`.
      expect: how it must end: PASS, FAIL, ERROR or TRAP.
      text: text that the record must contain.
      vlen: VLEN of the harts.
      isa: ISA that the image claims to need; default: the board's without vectors. Boards of
        another width are skipped.
      **kwargs: attributes of every target.
    """
    for board, about in _BOARDS.items():
        if isa and isa[:4] != about.isa[:4]:
            continue
        image = "{}._{}".format(name, board)
        bm_image(
            name = image,
            testonly = True,
            board = "//boards/" + board,
            isa = isa or about.isa,
            run_env = [env.format(about.vlen) for env in about.envs][0],
            tags = ["manual"],
            deps = ["//runtime_bm/testing/firmwares:" + (firmware or name)],
            **kwargs
        )
        bm_firmware_test(
            name = name,
            testonly = True,
            allow_smaller_vlen = True,
            exec_envs = {env.format(vlen): tags for env, tags in about.envs.items()},
            expect = expect,
            firmware = image,
            text = text,
            **kwargs
        )
