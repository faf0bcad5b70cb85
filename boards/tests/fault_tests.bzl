"""fault_tests: firmware that ends in every possible way, on emulated boards."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:defs.bzl", "bm_image", "bm_runs_test")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

# Board -> its ISA without vectors, its largest VLEN, and its environments.
_BOARDS = {
    "qemu_virt_rv32": struct(
        isa = "rv32imac",
        vlen = 256,
        envs = ["//boards/qemu_virt_rv32:vlen{}"],
    ),
    "spike_rv32": struct(
        isa = "rv32imac",
        vlen = 256,
        envs = ["//boards/spike_rv32:vlen{}"],
    ),
    "qemu_virt_rv64": struct(
        isa = "rv64gc",
        vlen = 1024,
        envs = ["//boards/qemu_virt_rv64:vlen{}"],
    ),
    "spike_rv64": struct(
        isa = "rv64gc",
        vlen = 1024,
        envs = [
            "//boards/spike_rv64:qemu_vlen{}",
            "//boards/spike_rv64:vlen{}",
        ],
    ),
}

# Each width and each emulator once.
FEW_BOARDS = ["qemu_virt_rv32", "spike_rv64"]

# Startup, traps, console and exit are code of the board.
ALL_BOARDS = _BOARDS.keys()

def fault_test(*, name, firmware = "", expect, text = "", vlen = 256, isa = "", boards = FEW_BOARDS, **kwargs):
    """Boots a firmware of //runtime_bm/testing/firmwares.

    Args:
      name: prefix of the images and of the tests: `<name>_on_boards_test`, and `<name>_on_other_boards_test` of what is
        left to `//:exhaustive`.
      firmware: the firmware's name; default: `name`.
      expect: how it must end: PASS, FAIL, ERROR or TRAP.
      text: text that the record must contain.
      vlen: VLEN of the harts.
      isa: ISA that the image claims to need; default: the board's without vectors. Boards of
        another width are skipped.
      boards: where it runs with every build: more than the default if it depends on the code of a board.
      **kwargs: attributes of every target.
    """
    tests = {"_on_boards": {}, "_on_other_boards": {}}
    for board, about in _BOARDS.items():
        if isa and ISAS[isa]["xlen"] != ISAS[about.isa]["xlen"]:
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
        test = "_on_boards" if board in boards else "_on_other_boards"
        tests[test][image] = [env.format(vlen) for env in about.envs]
    for test, firmwares in tests.items():
        if firmwares:
            bm_runs_test(
                name = name + test,
                testonly = True,
                allow_smaller_vlen = True,
                expect = expect,
                firmwares = firmwares,
                tags = EXHAUSTIVE if test == "_on_other_boards" else [],
                text = text,
                **kwargs
            )
