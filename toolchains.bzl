"""Ironcast's compilers and Python, for your WORKSPACE file, after deps.bzl."""

load("@pypi//:requirements.bzl", "install_deps")
load("@rules_python//python/pip_install:repositories.bzl", "pip_install_dependencies")

# A WORKSPACE file calls it.
# buildifier: disable=unnamed-macro
def ironcast_toolchains():
    """Registers the toolchains and declares the Python packages."""
    pip_install_dependencies()
    install_deps()
    native.register_toolchains(
        "@local_python//:toolchain",
        str(Label("//third_party/llvm:all")),
        "@bazel_skylib//toolchains/unittest:bash_toolchain",
    )
