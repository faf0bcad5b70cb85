"""What boards offer to applications, and models on boards that their own suites do not cover."""

load("//tools/rules:defs.bzl", "bm_runs")

# Firmware in //runtime_bm/testing/firmwares -> what its TRAP record says.
_TRAPS = {
    "stack_overflow_in_handler": "cause=7",
    "trap_in_handler": "cause=2",
}

# These protect the guard below the stack.
_MACHINE_MODE = {
    "rv32imafc_zve32f_zvl128b": ["qemu_virt_rv32:vlen256"],
    "rv64gcv_zvl256b": ["qemu_virt_rv64:vlen256"],
}

# ISA and place -> models.
_MODELS = {
    # Models without vectors, in f32 and int8.
    ("rv64gc", "qemu_sifive_u:qemu"): ["//models/ad:ad_int8", "//models/ds_cnn:ds_cnn_int8", "//models/fixture"],
    # Weights stay in flash.
    ("rv64gcv_zvl256b", "qemu_virt_rv64_flash:vlen256"): ["//models/bert_tiny:bert_tiny_1x128", "//models/fixture"],
    ("rv64gcv_zvl256b", "qemu_virt_rv64_smode:vlen256"): ["//models/fixture"],
}

def interrupts_test(*, name, on, **kwargs):
    """Makes `<name>_test`: a model computes the same while it is interrupted.

    Args:
      name: prefix of the test.
      on: dict from an ISA to places, as in bm_runs.
      **kwargs: other attributes of bm_runs.
    """
    bm_runs(
        name = name,
        testonly = True,
        expect = "EXIT",
        main = "//boards/tests:interrupts",
        models = ["//models/fixture"],
        on = on,
        **kwargs
    )

def application_tests(*, name):
    """Makes `interrupts_test`, `<trap>_test` for each trap in a handler, and `<model>_<board>_<env>_test` with its image.

    Args:
      name: unused; the tests are named after what they run.
    """
    vectors = "rv64gcv_zvl256b"
    interrupts_test(
        name = "interrupts",
        on = _MACHINE_MODE | {vectors: _MACHINE_MODE[vectors] + ["qemu_virt_rv64_smode:vlen256"]},
    )
    for trap, text in _TRAPS.items():
        bm_runs(
            name = trap,
            testonly = True,
            deps = ["//runtime_bm/testing/firmwares:" + trap],
            expect = "TRAP",
            on = _MACHINE_MODE,
            text = text,
        )
    for (isa, place), models in _MODELS.items():
        board = place.split(":")[0]
        for model in models:
            model_name = Label(model).name
            bm_runs(
                name = "{}_{}".format(model_name, place.replace(":", "_")),
                images = {board: "{}_on_{}".format(model_name, board)},
                models = [model],
                on = {isa: [place]},
            )
