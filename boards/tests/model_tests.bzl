"""model_tests: models on one board more than their own suites build them for."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test")

def model_tests(*, board, env, isa, models):
    """Makes `<model>_on_<board>` for every model, and the test that boots it.

    Args:
      board: name of the board.
      env: name of its execution environment, an emulator.
      isa: ISA of the kernels.
      models: bm_model labels.
    """
    label = "//boards/{}:{}".format(board, env)
    for model in models:
        name = "{}_on_{}".format(Label(model).name, board)
        bm_firmware(
            name = name,
            board = "//boards/" + board,
            isa = isa,
            models = [model],
            run_env = label,
        )
        bm_firmware_test(
            name = Label(model).name,
            exec_envs = {label: ["qemu"]},
            firmware = name,
        )
