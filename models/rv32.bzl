"""rv32_tests: a model on 32-bit harts, with vectors and without."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test", "bm_run_test")

_VECTORS = "rv32imafc_zve32f_zvl128b"
_SCALAR = "rv32imac"

# Suffix of the image -> its ISA, its board, and environments with the tags of their tests.
_IMAGES = {
    "rv32.spike": (_VECTORS, "spike_rv32", {"vlen128": "spike"}),
    "rv32": (_VECTORS, "qemu_virt_rv32", {"vlen128": "qemu", "vlen256": "qemu"}),
    "rv32imac.spike": (_SCALAR, "spike_rv32", {"scalar": "spike"}),
    "rv32imac": (_SCALAR, "qemu_virt_rv32", {"scalar": "qemu"}),
}

def rv32_tests(*, name, model, soft_float = True, tags = []):
    """Makes `<name>_rv32` (Zve32f) and `<name>_rv32imac` (soft float), each also `.spike`, and their tests.

    The runs of one ISA's kernels must agree to the bit.

    Args:
      name: prefix of the targets.
      model: bm_model.
      soft_float: whether rv32imac is among them. It cannot be where a function is computed by fused
        multiplications and additions: the `fmaf` that IREE brings for harts without F is empty.
      tags: tags of every test.
    """
    runs = {_SCALAR: [], _VECTORS: []}
    for suffix, (isa, board, envs) in _IMAGES.items():
        if isa == _SCALAR and not soft_float:
            continue
        firmware = "{}_{}".format(name, suffix)
        labels = {"//boards/{}:{}".format(board, env): [tag] for env, tag in envs.items()}
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            isa = isa,
            models = [model],
            run_env = labels.keys()[0],
            tags = tags,
        )
        runs[isa] += bm_firmware_test(
            name = "{}_{}".format(name, suffix.removesuffix(".spike")),
            exec_envs = labels,
            firmware = firmware,
            tags = tags,
        )
    for isa, of_isa in runs.items():
        if not of_isa:
            continue
        bm_run_test(
            name = "{}_{}_agreement_test".format(name, isa.split("_")[0]),
            agree = True,
            runs = of_isa,
            tags = tags + ["qemu", "spike"],
        )
