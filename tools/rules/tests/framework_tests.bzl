"""Importing a model with one framework must not download another."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_python//python:defs.bzl", "PyInfo")
load("//tools/rules:defs.bzl", "bm_model")

# The packages that make up most of the download.
_FRAMEWORKS = ["ai_edge_litert", "jax", "keras", "onnx", "onnxruntime", "tensorflow", "torch", "torchao"]

def _brings_impl(ctx):
    env = analysistest.begin(ctx)
    roots = [path.split("/")[0] for path in analysistest.target_under_test(env)[PyInfo].imports.to_list()]
    found = [framework for framework in _FRAMEWORKS if "pypi_" + framework in roots]
    asserts.equals(env, sorted(ctx.attr.frameworks), found)
    return analysistest.end(env)

_brings_test = analysistest.make(_brings_impl, attrs = {"frameworks": attr.string_list()})

# Model -> its attributes, and the frameworks it needs. The files need not exist: nothing builds them.
_MODELS = {
    "gguf": ({"src": "net.gguf"}, ["torch"]),
    "jax_or_other": ({"factory": "make", "src": "model.py"}, []),
    "keras": ({"src": "net.keras"}, ["keras", "tensorflow"]),
    "keras_int8": ({"quantize": "int8", "src": "net.keras"}, ["ai_edge_litert", "keras", "tensorflow"]),
    "mlir": ({"src": "net.mlir"}, []),
    "onnx": ({"src": "net.onnx"}, ["onnx", "onnxruntime"]),
    "program": ({"src": "net.pt2"}, ["torch"]),
    "program_int8": ({"quantize": "int8", "src": "net.pt2"}, ["torch", "torchao"]),
    "saved_model": ({"src": ":saved"}, ["keras", "tensorflow"]),
    "tflite": ({"src": "net.tflite"}, ["ai_edge_litert"]),
}

def framework_tests(*, name):
    """Analysis tests of the packages that bm_model adds to a model's importer.

    Args:
      name: name of the suite.
    """
    native.filegroup(
        name = "saved",
        srcs = ["saved/saved_model.pb", "saved/variables/variables.index"],
        tags = ["manual"],
    )
    for model, (attributes, frameworks) in _MODELS.items():
        bm_model(name = "of_" + model, tags = ["manual"], **attributes)
        _brings_test(
            name = model + "_frameworks_test",
            frameworks = frameworks,
            target_under_test = "of_{}._importer".format(model),
        )
    native.test_suite(
        name = name,
        tests = [model + "_frameworks_test" for model in _MODELS],
    )
