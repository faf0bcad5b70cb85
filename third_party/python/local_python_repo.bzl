"""The machine's Python as a toolchain: the `python3` on PATH, or IRONCAST_PYTHON."""

load("//third_party:runfiles.bzl", "FIND_RUNFILES")
load("//third_party:store.bzl", "STORE")

# rules_python includes a pip that expects a class Python 3.12 no longer has. It only registers the class and never
# instantiates it.
_FOR_OLD_PIP = """\
import pkgutil

if not hasattr(pkgutil, "ImpImporter"):
    pkgutil.ImpImporter = type("ImpImporter", (), dict())
"""

_BUILD = """\
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

exports_files(["python3"])

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

# The wheels of the lock need at least 3.11.
_ASK = "import sys; print(sys.executable); sys.exit(0 if sys.version_info >= (3, 11) else 1)"

def _local_python_repo_impl(rctx):
    name = rctx.getenv("IRONCAST_PYTHON", "python3")
    found = name if "/" in name else rctx.which(name)
    if not found:
        fail("`%s` is not on PATH: install Python 3.11 or newer, or set IRONCAST_PYTHON to it." % name)

    # Not `found` itself: it may be a version manager's wrapper, slow and dependent on its environment.
    asked = rctx.execute([found, "-I", "-c", _ASK])
    if asked.return_code != 0:
        fail("%s is not Python 3.11 or newer: set IRONCAST_PYTHON to one." % found)
    python = asked.stdout.strip()
    rctx.symlink(python, "python3")
    rctx.file("for_old_pip/sitecustomize.py", _FOR_OLD_PIP)
    for file in rctx.attr._recipe:
        rctx.watch(file)
    copied = rctx.execute([python, "-I", rctx.path(rctx.attr._copy_python), rctx.path("copy")])
    if copied.return_code != 0:
        fail("%s could not be copied: %s" % (python, copied.stderr.strip()))
    rctx.file("interpreter", _INTERPRETER, executable = True)
    rctx.file("BUILD.bazel", _BUILD.format(shebang = repr(_SHEBANG.replace("REPOSITORY", rctx.name))))

local_python_repo = repository_rule(
    implementation = _local_python_repo_impl,
    doc = "@NAME//:toolchain runs py_binary and py_test with this machine's Python 3.11 or newer.",
    attrs = {
        "_copy_python": attr.label(default = "//third_party/python:copy_python.py"),
        "_recipe": attr.label_list(default = STORE),
    },
)
