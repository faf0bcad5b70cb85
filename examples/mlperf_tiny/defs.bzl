"""mlperf_tiny: firmware that MLPerf Tiny's runners measure."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_flash")

# Benchmark -> what its runner sends (main.c), and the elements of its model's input and output.
_BENCHMARKS = {
    "ad01": ("MLPERF_F32", 640, 640),
    "ic01": ("MLPERF_PIXELS", 3072, 10),
    "kws01": ("MLPERF_I8", 490, 12),
    "vww01": ("MLPERF_PIXELS", 27648, 2),
}

# Of probabilities, in every .tflite file: (scale, zero point).
_PROBABILITIES = ("0.00390625f", -128)

def mlperf_tiny(*, name, benchmark, model, input = None, output = _PROBABILITIES):
    """Makes `<name>`, firmware for QEMU, and `<name>.flash`, for the board that `--board` names.

    Args:
      name: name of the firmware.
      benchmark: ad01, ic01, kws01 or vww01.
      model: bm_model whose input and output are int8.
      input: scale (a C expression) and zero point of the model's input; only for ad01.
      output: the same for its output.
    """
    kind, input_elements, output_elements = _BENCHMARKS[benchmark]
    scale, zero_point = input or ("1.0f", 0)
    cc_library(
        name = name + "._main",
        srcs = [Label("//examples/mlperf_tiny:main.c")],
        local_defines = [
            "MLPERF_MODEL=\\\"{}\\\"".format(benchmark),
            "MLPERF_INPUT=" + kind,
            "MLPERF_INPUT_ELEMENTS={}".format(input_elements),
            "MLPERF_INPUT_SCALE=({})".format(scale),
            "MLPERF_INPUT_ZERO_POINT=({})".format(zero_point),
            "MLPERF_OUTPUT_ELEMENTS={}".format(output_elements),
            "MLPERF_OUTPUT_SCALE=({})".format(output[0]),
            "MLPERF_OUTPUT_ZERO_POINT=({})".format(output[1]),
        ],
        tags = ["manual"],
        deps = [
            Label("//examples/mlperf_tiny:protocol"),
            Label("//runtime_bm"),
            Label("//runtime_bm/app:models"),
            Label("//runtime_bm/hal:application"),
        ],
    )
    common = {
        "expect": "EXIT",
        "main": name + "._main",
        "models": [model],
    }
    bm_firmware(
        name = name,
        board = Label("//boards/qemu_virt_rv64"),
        isa = "rv64gcv_zvl256b",
        run_env = Label("//boards/qemu_virt_rv64:vlen256"),
        **common
    )
    for isa in ISAS:
        bm_firmware(
            name = "{}._for_{}".format(name, isa),
            board = Label("//boards:board"),
            isa = isa,
            tags = ["manual"],
            **common
        )
    bm_flash(
        name = name + ".flash",
        firmware = select({
            Label("//tools/rules:board_has_" + isa): "{}._for_{}".format(name, isa)
            for isa in ISAS
        } | {"//conditions:default": name}),
        tags = ["manual"],
    )
