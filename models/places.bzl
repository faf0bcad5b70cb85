"""agreement_test, rv32_tests: models compute the same bits in QEMU and on Spike, on vectors of every length."""

load("//tools/rules:defs.bzl", "bm_measured", "bm_runs", "env_name")

def agreement_test(*, name, models, vlens, isa = "rv64gcv_zvl128b", **kwargs):
    """Makes `<name>_agreement_test`: kernels for the smallest vectors also run on larger ones.

    Args:
      name: prefix of the test.
      models: bm_models, all in one image.
      vlens: VLENs in bits to run at.
      isa: ISA of the kernels.
      **kwargs: other attributes of bm_runs, e.g. harts.
    """
    envs = [env_name(vlen, isa) for vlen in vlens]
    bm_runs(
        name = name + "_agreement",
        agree = True,
        models = models,
        on = {isa: ["{}:{}".format(board, env) for board in ["qemu_virt_rv64", "spike_rv64"] for env in envs]},
        **kwargs
    )

# Suffix of the images -> their ISA, and their environments in QEMU and on Spike.
_RV32 = {
    "_rv32": ("rv32imafc_zve32f_zvl128b", ["vlen128", "vlen256"], "vlen128"),
    "_rv32imac": ("rv32imac", ["scalar"], "scalar"),
}

def rv32_tests(*, name, models, baseline = None):
    """Makes `<name>_rv32` (Zve32f) and `<name>_rv32imac` (soft float), each also `.spike`, and their tests.

    All runs of one ISA's kernels must agree bit for bit.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      baseline: text with a line for both images; without it they are not measured.
    """
    for suffix, (isa, in_qemu, on_spike) in _RV32.items():
        image = name + suffix
        runs = bm_runs(
            name = image + "_agreement",
            agree = True,
            images = {"qemu_virt_rv32": image, "spike_rv32": image + ".spike"},
            models = models,
            on = {isa: ["qemu_virt_rv32:" + env for env in in_qemu] + ["spike_rv32:" + on_spike]},
            profile = ["spike_rv32"],
        )
        if baseline:
            spike = Label("//boards/spike_rv32:" + on_spike)
            bm_measured(
                name = image,
                baseline = baseline,
                board = "//boards/spike_rv32",
                exec_env = spike,
                isa = isa,
                models = models,
                run = runs[spike],
            )
