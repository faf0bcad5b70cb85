"""interrupt_tests: boards with interrupts handle them while a model runs, and report traps in the handler."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_image", "bm_runs_test")

# Firmware in //runtime_bm/testing/firmwares -> what its TRAP record says.
_TRAPS = {
    "stack_overflow_in_handler": "cause=7",
    "trap_in_handler": "cause=2",
}

# These protect the guard below the stack.
_MACHINE_MODE = ["qemu_virt_rv32", "qemu_virt_rv64"]

def interrupt_tests(*, name, main, boards):
    """Makes the test `name` of a model that is interrupted, and `<trap>_test` for each trap.

    Args:
      name: name of the test.
      main: cc_library with main() that returns 0.
      boards: dict from the name of a board to the ISA of the model.
    """
    for board, isa in boards.items():
        bm_firmware(
            name = "{}._{}".format(name, board),
            testonly = True,
            board = "//boards/" + board,
            expect = "EXIT",
            isa = isa,
            main = main,
            models = ["//models/fixture"],
            run_env = "//boards/{}:vlen256".format(board),
            tags = ["manual"],
        )
    bm_runs_test(
        name = name.removesuffix("_test"),
        testonly = True,
        expect = "EXIT",
        firmwares = {
            "{}._{}".format(name, board): ["//boards/{}:vlen256".format(board)]
            for board in boards
        },
    )
    for trap, text in _TRAPS.items():
        for board in _MACHINE_MODE:
            bm_image(
                name = "{}._{}".format(trap, board),
                testonly = True,
                board = "//boards/" + board,
                isa = boards[board],
                run_env = "//boards/{}:vlen256".format(board),
                tags = ["manual"],
                deps = ["//runtime_bm/testing/firmwares:" + trap],
            )
        bm_runs_test(
            name = trap,
            testonly = True,
            expect = "TRAP",
            firmwares = {
                "{}._{}".format(trap, board): ["//boards/{}:vlen256".format(board)]
                for board in _MACHINE_MODE
            },
            text = text,
        )
