"""The machine's Python as a toolchain: the `python3` on PATH, or IRONCAST_PYTHON."""

load("//third_party:runfiles.bzl", "FIND_RUNFILES")

# rules_python unpacks wheels with this. It compiles the unpacked files once, here: importing torch and
# transformers takes 7 s without compiled files and 3 s with them, in every action that imports them,
# and an action cannot keep them. They hold the hash of their source, not its time, so that they are the same on all
# machines and a file that somebody changes is not run as it was. It makes PyTorch's CUDA build work without CUDA, and deletes the wheel,
# which is no longer needed; all wheels together are 0.8 GB.
_UNPACKER = """\
#!/bin/sh
PYTHONPATH='{for_old_pip}'"${{PYTHONPATH:+:$PYTHONPATH}}" '{python}' "$@" || {{
  {advice}exit 1
}}
if [ -d site-packages ]; then
  [ ! -e site-packages/torch/lib/libtorch_cuda.so ] || '{python}' -B '{without_cuda}' || exit
  '{python}' -m compileall -q --invalidation-mode checked-hash site-packages > /dev/null || true  # some files are for other Pythons
  rm -f ./*.whl
fi
"""

# rules_python includes a pip and a setuptools that expect a class Python 3.12 no longer has. They only
# register the class and never instantiate it.
_FOR_OLD_PIP = """\
import pkgutil

if not hasattr(pkgutil, "ImpImporter"):
    pkgutil.ImpImporter = type("ImpImporter", (), dict())
"""

_BUILD = """\
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

exports_files(["python3", "unpacker"])

# As a folder, `copy` is one input; its thousand files would be linked into every sandbox.
py_runtime(
    name = "runtime",
    files = ["copy"],
    interpreter = "interpreter",
    python_version = "PY3",
    stub_shebang = {shebang},
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

# The first lines of every Python program that Bazel writes. For the shell, they start the program with the copy
# of Python that is among its files. For Python, they are a text.
_SHEBANG = "#!/bin/sh\n''':'\n" + FIND_RUNFILES + """\
exec "$files/REPOSITORY/interpreter" "$0" "$@"
'''"""

# Bazel 7.7.1 sends a folder to a remote worker at its place in the exec root, and not in the runfiles. Packages are
# folders too.
_INTERPRETER = """\
#!/bin/sh
here="${0%/*}"
python="$here/copy"
if [ ! -d "$python" ]; then
  external="${0%/bazel-out/*}/external"
  python="$external/${here##*/}/copy"
  paths=
  IFS=:
  for path in ${PYTHONPATH:-}; do
    [ -d "$path" ] || path="$external/${path##*.runfiles/}"
    paths="$paths${paths:+:}$path"
  done
  export PYTHONPATH="$paths"
fi
exec "$python/bin/python3" "$@"
"""

# For these, every package in the lock has a wheel or needs none.
_KNOWN = ["3.11", "3.12", "3.13"]

# If rules_python is the caller, $4 is a line of the lock.
_ADVICE = """\
[ "$3" != --requirement ] || echo "${{4%% *}} may not exist for Python {version}: set IRONCAST_PYTHON to one of {known}." >&2
  """

# The version decides which wheels pip takes; the lock's need at least 3.11.
_ASK = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2]); sys.exit(0 if sys.version_info >= (3, 11) else 1)"

def _local_python_repo_impl(rctx):
    name = rctx.getenv("IRONCAST_PYTHON", "python3")
    found = name if "/" in name else rctx.which(name)
    if not found:
        fail("`%s` is not on PATH: install Python 3.11 or newer, or set IRONCAST_PYTHON to it." % name)

    # Not `found` itself: it may be a version manager's wrapper, slow and dependent on its environment.
    asked = rctx.execute([found, "-I", "-c", _ASK])
    if asked.return_code != 0:
        fail("%s is not Python 3.11 or newer: set IRONCAST_PYTHON to one." % found)
    python, _, version = asked.stdout.strip().rpartition(" ")
    rctx.symlink(python, "python3")
    rctx.file("for_old_pip/sitecustomize.py", _FOR_OLD_PIP)
    rctx.file("unpacker", _UNPACKER.format(
        advice = "" if version in _KNOWN else _ADVICE.format(known = ", ".join(_KNOWN), version = version),
        for_old_pip = rctx.path("for_old_pip"),
        python = python,
        without_cuda = rctx.path(rctx.attr._without_cuda),
    ), executable = True)
    copied = rctx.execute([python, "-I", rctx.path(rctx.attr._copy_python), rctx.path("copy")])
    if copied.return_code != 0:
        fail("%s could not be copied: %s" % (python, copied.stderr.strip()))
    rctx.file("interpreter", _INTERPRETER, executable = True)
    rctx.file("BUILD.bazel", _BUILD.format(shebang = repr(_SHEBANG.replace("REPOSITORY", rctx.name))))

    # Where Bazel keeps repositories: for tests that run a Bazel of their own.
    rctx.file("defs.bzl", "EXTERNAL = %r\n" % str(rctx.path("python3").dirname.dirname))

local_python_repo = repository_rule(
    implementation = _local_python_repo_impl,
    doc = "@NAME//:toolchain runs py_binary and py_test with this machine's Python 3.11 or newer.",
    attrs = {
        "_copy_python": attr.label(default = "//third_party/python:copy_python.py"),
        "_without_cuda": attr.label(default = "//third_party/python:without_cuda.py"),
    },
)
