"""rv32_tests: models on 32-bit harts, with vectors and without."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_measured", "bm_runs_test")

# Suffix of the images -> their ISA, and their environments on Spike and in QEMU.
_IMAGES = {
    "rv32": struct(isa = "rv32imafc_zve32f_zvl128b", spike = "vlen128", qemu = ["vlen128", "vlen256"]),
    "rv32imac": struct(isa = "rv32imac", spike = "scalar", qemu = ["scalar"]),
}

def rv32_tests(*, name, models, baseline = None, tags = []):
    """Makes `<name>_rv32` (Zve32f) and `<name>_rv32imac` (soft float), each also `.spike`, and their tests.

    All runs of one ISA's kernels must agree bit for bit.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      baseline: text with a line for both images; without it they are not measured.
      tags: tags of every test.
    """
    for suffix, about in _IMAGES.items():
        image = "{}_{}".format(name, suffix)
        spike = "//boards/spike_rv32:" + about.spike
        qemu = ["//boards/qemu_virt_rv32:" + env for env in about.qemu]
        bm_firmware(
            name = image,
            board = "//boards/qemu_virt_rv32",
            isa = about.isa,
            models = models,
            run_env = qemu[0],
            tags = tags,
        )
        bm_firmware(
            name = image + ".spike",
            board = "//boards/spike_rv32",
            isa = about.isa,
            models = models,
            profile = True,
            run_env = spike,
            tags = tags,
        )
        runs = bm_runs_test(
            name = image + "_agreement",
            agree = True,
            firmwares = {image: qemu, image + ".spike": [spike]},
            tags = tags,
        )
        if baseline:
            bm_measured(
                name = image,
                baseline = baseline,
                board = "//boards/spike_rv32",
                exec_env = spike,
                isa = about.isa,
                models = models,
                run = runs[spike],
                tags = tags,
            )
