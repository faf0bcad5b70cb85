"""Packages that importing each kind of model needs; other models' frameworks are not downloaded."""

load("@pypi//:requirements.bzl", "requirement")

_ONNX = [requirement("onnx"), requirement("onnxruntime")]
_TENSORFLOW = [requirement("keras"), requirement("tensorflow")]
_TFLITE = [requirement("ai-edge-litert"), requirement("tosa-converter-for-tflite")]

# For the ops on sound of TensorFlow Lite for Microcontrollers.
_SOUND = [requirement("pyyaml"), requirement("tflite-micro")]
_TORCH = [requirement("torch"), requirement("torch-mlir")]

# Suffix of a model file -> packages to import it. A model.py names its own in `deps`; a target
# without a suffix is the files of a SavedModel folder.
FRONTENDS = {
    "": _TENSORFLOW,
    ".gguf": _TORCH + [requirement("gguf"), requirement("transformers")],
    ".keras": _TENSORFLOW,
    ".mlir": [],
    ".mlirbc": [],
    ".onnx": _ONNX,
    ".pt2": _TORCH,
    ".py": [],
    ".tflite": _TFLITE + _SOUND,
}

# The same -> packages that `quantize = "int8"` also needs.
QUANTIZERS = {
    "": _TFLITE,
    ".keras": _TFLITE,
    ".pt2": [requirement("torchao")],
}

def suffix_of(src):
    """Returns the suffix of the file that a label names, or "" if it has none.

    Args:
      src: label, as a string or Label.
    """
    name = str(src).split("/")[-1].split(":")[-1]
    return "." + name.split(".")[-1] if "." in name else ""
