"""board_tests: a board of one environment ends every way a firmware can end."""

load("//tools/rules:defs.bzl", "bm_firmware_test", "bm_image")

# Firmware of //runtime_bm/testing/firmwares -> how it ends, and what its record says.
# `dispatch=-` is initialised data: it is there only if startup put it there.
_ENDS = {
    "fail": ("FAIL", "cases=2 bad=2 models=fake"),
    "pass": ("PASS", ""),
    "stack_overflow": ("TRAP", "model=- dispatch=-"),
    "trap": ("TRAP", "cause=2"),
}

def board_tests(*, board, env, ends = {}):
    """Boots small firmwares on a board and judges how they end.

    Args:
      board: name of the board.
      env: name of its execution environment, an emulator.
      ends: what is different on this board: name of a firmware -> (record, text).
    """
    label = "//boards/{}:{}".format(board, env)
    for firmware, (expect, text) in (_ENDS | ends).items():
        image = "{}._{}".format(firmware, board)
        bm_image(
            name = image,
            testonly = True,
            board = "//boards/" + board,
            isa = "rv64gc",
            run_env = label,
            tags = ["manual"],
            deps = ["//runtime_bm/testing/firmwares:" + firmware],
        )
        bm_firmware_test(
            name = firmware,
            testonly = True,
            exec_envs = {label: ["qemu"]},
            expect = expect,
            firmware = image,
            text = text,
        )
