"""fault_tests: firmware that ends in every possible way, on every emulated board."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:defs.bzl", "bm_image", "bm_runs_test")

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

def fault_test(*, name, firmware = "", expect, text = "", vlen = 256, isa = "", **kwargs):
    """Boots a firmware of //runtime_bm/testing/firmwares wherever it can run.

    Args:
      name: prefix of the images and of the test, `<name>_on_boards_test`.
      firmware: the firmware's name; default: `name`.
      expect: how it must end: PASS, FAIL, ERROR or TRAP.
      text: text that the record must contain.
      vlen: VLEN of the harts.
      isa: ISA that the image claims to need; default: the board's without vectors. Boards of
        another width are skipped.
      **kwargs: attributes of every target.
    """
    firmwares = {}
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
        firmwares[image] = [env.format(vlen) for env in about.envs]
    bm_runs_test(
        name = name + "_on_boards",
        testonly = True,
        allow_smaller_vlen = True,
        expect = expect,
        firmwares = firmwares,
        text = text,
        **kwargs
    )
