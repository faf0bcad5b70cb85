"""op_test: one operator, compiled once and run at every VLEN in both emulators."""

load("@pypi//:requirements.bzl", "requirement")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test", "bm_model", "bm_run_test")

_ISA = "rv64gcv_zvl128b"
_VLENS = [128, 256, 512, 1024]

def op_test(*, name, **kwargs):
    """Tests of one operator.

    Args:
      name: name of the operator.
      **kwargs: source of the model, as for bm_model.
    """
    bm_model(name = name, **kwargs)
    runs = []
    for board, tag in {"qemu_virt_rv64": "qemu", "spike_rv64": "spike"}.items():
        envs = {"//boards/{}:vlen{}".format(board, vlen): [tag] for vlen in _VLENS}
        firmware = "{}_{}".format(name, board)
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            isa = _ISA,
            models = [name],
            run_env = envs.keys()[0],
        )
        runs += bm_firmware_test(name = name, exec_envs = envs, firmware = firmware)
    bm_run_test(
        name = name + "_agreement_test",
        agree = True,
        runs = runs,
        tags = ["qemu", "spike"],
    )

def torch_op_test(*, name):
    """op_test of the factory of that name in ops.py.

    Args:
      name: name of the factory and of the operator.
    """
    op_test(
        name = name,
        src = "ops.py",
        factory = name,
        deps = [requirement("torch"), requirement("torch-mlir")],
    )
