"""Python packages that the compiler imports; third_party/python/requirements_lock.txt has their versions."""

# What all of bmc imports.
BASE = [
    "iree-base-compiler",
    "iree-base-runtime",
    "ml-dtypes",
    "numpy",
]

# Extra of the wheel -> the packages with which bmc imports these models.
FRAMEWORKS = {
    "gguf": [
        "gguf",
        "torch",
        "torch-mlir",
        "transformers",
    ],
    "jax": ["jax"],
    "onnx": [
        "onnx",
        "onnxruntime",
    ],
    "tensorflow": [
        "ai-edge-litert",
        "keras",
        "tensorflow",
        "tosa-converter-for-tflite",
    ],
    "torch": [
        "torch",
        "torch-mlir",
        "torchao",
    ],
}
