"""zoo_model: a well-known model in each of its element types.
model_table: a table of all models. model_overview: a page about them."""

load("@pypi//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "py_binary", "py_test")
load("//models:places.bzl", "agreement_test")
load("//tools/rules:defs.bzl", "bm_model", "bm_model_suite")
load("//tools/rules:exhaustive.bzl", "emulator_suites", "exhaustive_suite")

KERAS = [
    requirement("ai-edge-litert"),
    requirement("keras"),
    requirement("tensorflow"),
    requirement("tosa-converter-for-tflite"),
]

TORCH = [
    requirement("torch"),
    requirement("torch-mlir"),
    requirement("torchao"),
]

# What every image took when somebody last looked.
BASELINE = Label("//models:baseline.txt")

# Tags of what takes minutes: wildcards neither build nor test it.
LARGE = ["large", "manual"]

# VLENs at which kernels for the smallest vectors run; kernels for VLEN 256 run at VLEN 256.
_VLENS = {
    "large": [128],
    "medium": [128],
    "small": [128, 512, 1024],
}

# Import option of each element type.
_QUANTIZE = {"f16": "f16", "f32": "", "int8": "int8"}

# ISA for which the kernels of each element type are built.
_ISA = {
    "f16": "rv64gcv_zfh_zvfh_zvl256b",
    "f32": "rv64gcv_zvl256b",
    "int8": "rv64gcv_zvl256b",
}

def zoo_model(
        *,
        name,
        factories,
        size,
        deps,
        float_parts = {},
        harts = {},
        hooks = "//runtime_bm/app:hooks_default"):
    """Makes `<name>_<dtype>` (bm_model) and `<name>_<dtype>_rv64` (bm_model_suite) for each type.

    A kernel that multiplies one number at a time fails the build, unless //models:scalar_kernels.txt has it.
    The suite's kernels are built for VLEN 256; `<name>_<dtype>_rv64_zvl128b` has kernels for VLEN 128
    and runs at every VLEN that `size` selects. Both are held to //models:baseline.txt.

    Args:
      name: name of the model and of its folder.
      factories: dict from element type, `f32`, `f16` (computed in f16) or `int8` (quantized when it is imported), to
        the function in model.py.
      size: `small` runs at VLEN 128, 256, 512 and 1024, `medium` and `large` at 128 and 256. Wildcards
        do not build or test a `large` model: its tests are in `large_test`.
      deps: Python libraries that model.py imports, including KERAS or TORCH.
      float_parts: for the int8 model, as in bm_model.
      harts: dict from element type to the numbers of harts that tests run it on, beside one.
      hooks: cc_library with the model's own console output.
    """
    tags = LARGE if size == "large" else []
    for dtype, factory in factories.items():
        model = "{}_{}".format(name, dtype)
        bm_model(
            name = model,
            src = "model.py",
            factory = factory,
            float_parts = float_parts if dtype == "int8" else {},
            quantize = _QUANTIZE[dtype],
            scalar_kernels = Label("//models:scalar_kernels.txt"),
            tags = tags,
            deps = deps,
        )
        bm_model_suite(
            name = model + "_rv64",
            baseline = BASELINE,
            test_harts = harts.get(dtype, []),
            hooks = hooks,
            isa = _ISA[dtype],
            models = [model],
            tags = tags,
            vlens = [256],
        )
        agreement_test(
            name = model + "_rv64_zvl128b",
            isa = _ISA[dtype].replace("256", "128"),
            models = [model],
            tags = tags,
            vlens = _VLENS[size],
        )
    if size == "large":
        exhaustive_suite(name = "large_test", tag = "large")
    emulator_suites()

def model_table(*, name, order, reports, tags):
    """A program that prints the README rows of some models; with --update it writes them there.

    `<name>_test` fails if the README has different rows.

    Args:
      name: name of the program.
      order: names of all the table's models, in order.
      reports: list of bm_report, each of an image with one model.
      tags: tags of the test.
    """
    rows = ["$(rootpaths :{}.reports)".format(name), "--order"] + order
    native.filegroup(
        name = name + ".reports",
        srcs = reports,
        tags = ["manual"],
    )
    py_binary(
        name = name,
        srcs = [Label("//tools/report:model_table.py")],
        args = rows,
        data = [name + ".reports"],
        main = Label("//tools/report:model_table.py"),
        tags = ["manual"],
        deps = [Label("//tools/report:model_table_lib")],
    )
    py_test(
        name = name + "_test",
        srcs = [Label("//tools/report:model_table.py")],
        args = rows + ["--check", "$(rootpath //:README.md)"],
        data = [
            "//:README.md",
            name + ".reports",
        ],
        main = Label("//tools/report:model_table.py"),
        tags = tags,
        deps = [Label("//tools/report:model_table_lib")],
    )

def model_overview(*, name, reports):
    """A program that writes a page that compares models.

    Args:
      name: name of the program.
      reports: files, each the report of an image with one model.
    """
    py_binary(
        name = name,
        srcs = [Label("//tools/report/view:overview.py")],
        args = [
            "$(rootpaths {})".format(reports),
            "--d3",
            "$(rootpath //third_party/d3)",
        ],
        data = [
            reports,
            "//third_party/d3",
        ],
        main = Label("//tools/report/view:overview.py"),
        tags = ["manual"],
        deps = [Label("//tools/report/view:overview")],
    )
