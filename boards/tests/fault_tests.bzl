"""fault_tests: firmwares that end in every way, on every emulated board."""

load("//tools/rules:defs.bzl", "bm_firmware_test", "bm_image")

# Board -> environments, with the tags of their tests.
_BOARDS = {
    "qemu_virt_rv64": {"//boards/qemu_virt_rv64:vlen{}": ["qemu"]},
    "spike_rv64": {
        "//boards/spike_rv64:qemu_vlen{}": ["qemu"],
        "//boards/spike_rv64:vlen{}": ["spike"],
    },
}

def fault_test(*, name, firmware = "", expect, text = "", vlen = 256, isa = "rv64gc", **kwargs):
    """Boots a firmware of //runtime_bm/testing/firmwares wherever it can run.

    Args:
      name: prefix of the tests.
      firmware: the firmware's name; `name` if left out.
      expect: how it must end: PASS, FAIL, ERROR or TRAP.
      text: text that the record must hold.
      vlen: VLEN of the harts.
      isa: ISA that the image claims to need.
      **kwargs: attributes of every target.
    """
    for board, envs in _BOARDS.items():
        image = "{}._{}".format(name, board)
        bm_image(
            name = image,
            testonly = True,
            board = "//boards/" + board,
            isa = isa,
            run_env = [env.format(1024) for env in envs][0],
            tags = ["manual"],
            deps = ["//runtime_bm/testing/firmwares:" + (firmware or name)],
            **kwargs
        )
        bm_firmware_test(
            name = name,
            testonly = True,
            allow_smaller_vlen = True,
            exec_envs = {env.format(vlen): tags for env, tags in envs.items()},
            expect = expect,
            firmware = image,
            text = text,
            **kwargs
        )
