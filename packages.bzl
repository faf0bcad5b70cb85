"""The repositories of Python packages, for a MODULE.bazel file. They are declared by @pypi, another extension's."""

load("@pypi//:requirements.bzl", "install_deps")

def _packages_impl(mctx):
    install_deps()
    return mctx.extension_metadata(reproducible = True)

packages = module_extension(
    implementation = _packages_impl,
    doc = "Each Python package of the locks, fetched when something needs it.",
)
