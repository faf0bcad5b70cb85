"""model_tests: models on a board that their own suites do not cover."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test")

def model_tests(*, name, board, env, isa, models):
    """Makes `<model>_on_<board>` for every model, and the test that boots it.

    Args:
      name: unused; the targets are named after models and board.
      board: name of the board.
      env: name of its execution environment, an emulator.
      isa: ISA of the kernels.
      models: bm_model labels.
    """
    label = "//boards/{}:{}".format(board, env)
    for model in models:
        model_name = Label(model).name
        firmware = "{}_on_{}".format(model_name, board)
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            isa = isa,
            models = [model],
            run_env = label,
        )
        bm_firmware_test(
            name = model_name,
            exec_envs = {label: ["qemu"]},
            firmware = firmware,
        )
