"""board_tests: a board handles every way firmware can end."""

load("//tools/rules:defs.bzl", "bm_firmware_test", "bm_image")

# Firmware in //runtime_bm/testing/firmwares -> how it ends, and what its record says.
# `dispatch=-` is initialized data: it is right only if startup copied it.
_ENDS = {
    "fail": ("FAIL", "cases=2 bad=2 models=fake"),
    "pass": ("PASS", ""),
    "stack_overflow": ("TRAP", "model=- dispatch=-"),
    "trap": ("TRAP", "cause=2"),
}

def board_tests(*, name, isa = "rv64gc", envs = ["qemu"], kind = "qemu", ends = {}):
    """Boots small firmware images on a board and judges how they end.

    Args:
      name: name of the board.
      isa: its ISA without vectors.
      envs: names of its execution environments, emulators.
      kind: tag of the tests: what the environments are.
      ends: differences on this board: name of a firmware -> (record, text).
    """
    labels = ["//boards/{}:{}".format(name, env) for env in envs]
    for firmware, (expect, text) in (_ENDS | ends).items():
        image = "{}._{}".format(firmware, name)
        bm_image(
            name = image,
            testonly = True,
            board = "//boards/" + name,
            isa = isa,
            run_env = labels[0],
            tags = ["manual"],
            deps = ["//runtime_bm/testing/firmwares:" + firmware],
        )
        bm_firmware_test(
            name = firmware,
            testonly = True,
            exec_envs = {label: [kind] for label in labels},
            expect = expect,
            firmware = image,
            text = text,
        )
