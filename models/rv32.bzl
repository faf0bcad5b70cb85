"""rv32_tests: models on 32-bit harts, with vectors and without."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test", "bm_measured", "bm_run_test")

_VECTORS = "rv32imafc_zve32f_zvl128b"
_SCALAR = "rv32imac"

# Suffix of the image -> its ISA, its board, and environments with the tags of their tests.
_IMAGES = {
    "rv32.spike": (_VECTORS, "spike_rv32", {"vlen128": "spike"}),
    "rv32": (_VECTORS, "qemu_virt_rv32", {"vlen128": "qemu", "vlen256": "qemu"}),
    "rv32imac.spike": (_SCALAR, "spike_rv32", {"scalar": "spike"}),
    "rv32imac": (_SCALAR, "qemu_virt_rv32", {"scalar": "qemu"}),
}

def rv32_tests(*, name, models, budgets = {}, tags = []):
    """Makes `<name>_rv32` (Zve32f) and `<name>_rv32imac` (soft float), each also `.spike`, and their tests.

    All runs of one ISA's kernels must agree bit for bit.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      budgets: suffix of an image, "rv32" or "rv32imac" -> its budget.json.
      tags: tags of every test.
    """
    runs = {_SCALAR: [], _VECTORS: []}
    for suffix, (isa, board, envs) in _IMAGES.items():
        firmware = "{}_{}".format(name, suffix)
        labels = {"//boards/{}:{}".format(board, env): [tag] for env, tag in envs.items()}
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            isa = isa,
            models = models,
            run_env = labels.keys()[0],
            tags = tags,
        )
        runs[isa] += bm_firmware_test(
            name = "{}_{}".format(name, suffix.removesuffix(".spike")),
            exec_envs = labels,
            firmware = firmware,
            tags = tags,
        )
    for suffix, budget in budgets.items():
        isa, board, envs = _IMAGES[suffix + ".spike"]
        bm_measured(
            name = "{}_{}".format(name, suffix),
            board = "//boards/" + board,
            budget = budget,
            env = "//boards/{}:{}".format(board, envs.keys()[0]),
            isa = isa,
            models = models,
            tags = tags,
        )
    for isa, of_isa in runs.items():
        bm_run_test(
            name = "{}_{}_agreement_test".format(name, isa.split("_")[0]),
            agree = True,
            runs = of_isa,
            tags = tags + ["qemu", "spike"],
        )
