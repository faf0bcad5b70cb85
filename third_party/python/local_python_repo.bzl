"""The machine's Python as a toolchain: the `python3` on PATH, or IRONCAST_PYTHON."""

# pip_parse unpacks wheels with this. What it unpacked is compiled once, here: importing torch and
# transformers takes 7 s without compiled files and 3 s with them, in every action that does it, and
# an action cannot leave them behind. PyTorch's CUDA build is made to do without CUDA. The wheel is not
# needed any more; of all packages together that is 0.8 GB.
_UNPACKER = """\
#!/bin/sh
'{python}' "$@" || exit
if [ -d site-packages ]; then
  [ ! -e site-packages/torch/lib/libtorch_cuda.so ] || '{python}' -B '{without_cuda}' || exit
  '{python}' -m compileall -q site-packages > /dev/null || true  # some files are for other Pythons
  rm -f ./*.whl
fi
"""

_BUILD = """\
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

exports_files(["python3", "unpacker"])
py_runtime(
    name = "runtime",
    interpreter_path = "{python}",
    python_version = "PY3",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

# The version decides which wheels pip takes, and the lock's are for this one at least.
_ASK = "import sys; print(sys.executable); sys.exit(0 if sys.version_info >= (3, 11) else 1)"

def _local_python_repo_impl(rctx):
    name = rctx.getenv("IRONCAST_PYTHON", "python3")
    found = name if "/" in name else rctx.which(name)
    if not found:
        fail("`%s` is not on PATH: install Python 3.11 or newer, or set IRONCAST_PYTHON to it." % name)

    # Not `found` itself: that may be a wrapper of a version manager, slow and dependent on its environment.
    asked = rctx.execute([found, "-I", "-c", _ASK])
    if asked.return_code != 0:
        fail("%s is not Python 3.11 or newer: set IRONCAST_PYTHON to one." % found)
    python = asked.stdout.strip()
    rctx.symlink(python, "python3")
    rctx.file("unpacker", _UNPACKER.format(python = python, without_cuda = rctx.path(rctx.attr._without_cuda)), executable = True)
    rctx.file("BUILD.bazel", _BUILD.format(python = python))

    # Where Bazel keeps repositories.
    rctx.file("defs.bzl", "EXTERNAL = %r\n" % str(rctx.path("python3").dirname.dirname))

local_python_repo = repository_rule(
    implementation = _local_python_repo_impl,
    doc = "@NAME//:toolchain runs py_binary and py_test with this machine's Python 3.11 or newer.",
    attrs = {
        "_without_cuda": attr.label(default = "//third_party/python:without_cuda.py"),
    },
)
