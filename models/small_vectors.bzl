"""small_vectors_test: runs models with kernels for the smallest vectors, also on larger vectors."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_runs_test", "env_name")

def small_vectors_test(*, name, models, vlens, isa = "rv64gcv_zvl128b", tags = []):
    """Makes `<name>_<board>` for QEMU and Spike, and `<name>_agreement_test` of their runs.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      vlens: VLENs in bits to run at.
      isa: ISA of the kernels.
      tags: tags of every test.
    """
    firmwares = {}
    for board in ["qemu_virt_rv64", "spike_rv64"]:
        envs = ["//boards/{}:{}".format(board, env_name(vlen, isa)) for vlen in vlens]
        firmware = "{}_{}".format(name, board)
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            isa = isa,
            models = models,
            run_env = envs[0],
            tags = tags + ["manual"],
        )
        firmwares[firmware] = envs
    bm_runs_test(
        name = name + "_agreement",
        agree = True,
        firmwares = firmwares,
        tags = tags,
    )
