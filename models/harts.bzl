"""harts_test: runs several models in one image on several harts."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_runs_test", "bm_workgroups_test")

_ISA = "rv64gcv_zvl128b"
_ENV = "vlen128"

def harts_test(*, name, models, harts, workgroups = True):
    """Makes `<name>_agreement_test`, of runs in QEMU and on Spike, and `<name>_workgroups_..._test`.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      harts: how many.
      workgroups: whether to run each workgroup alone, which entry points without a driver can.
    """
    firmwares = {}
    for board in ["qemu_virt_rv64", "spike_rv64"]:
        firmware = "{}_{}".format(name, board)
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            harts = harts,
            isa = _ISA,
            models = models,
            run_env = "//boards/{}:{}".format(board, _ENV),
            tags = ["manual"],
        )
        firmwares[firmware] = ["//boards/{}:{}".format(board, _ENV)]
    bm_runs_test(
        name = name + "_agreement",
        agree = True,
        firmwares = firmwares,
    )
    if workgroups:
        bm_workgroups_test(
            name = name + "_workgroups",
            exec_env = "//boards/qemu_virt_rv64:" + _ENV,
            harts = harts,
            isa = _ISA,
            models = models,
        )
