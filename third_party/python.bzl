"""Python packages: @pypi, from the hash-pinned lock; each is fetched when something needs it."""

load("@cpu_builds//:defs.bzl", "PIP_ARGS", "TORCH")
load("@rules_python//python:pip.bzl", "package_annotation", "pip_parse")
load("@rules_python//python/pip_install:repositories.bzl", "pip_install_dependencies")
load("//third_party:versions.bzl", "PYTHON_PACKAGES")

# A package is passed on as one link to its `site-packages`, see site_packages.bzl.
# `:files` is the package without the dependencies in its metadata.
_ADDITIONS = """
load("@ironcast//third_party/python:site_packages.bzl", "site_packages")

exports_files({programs})

site_packages(
    name = "site_packages",
    build_file = "BUILD.bazel",
)

py_library(
    name = "files",
    data = [":site_packages"],
    imports = ["site-packages"],
)
"""

def _as_link(name, package):
    content = _ADDITIONS.format(programs = package.get("programs", []))
    if name == "torch":
        content += "# Choice of its build: %s\n" % TORCH
    return package_annotation(
        additive_build_content = content,
        data = [":site_packages"],
        data_exclude_glob = ["site-packages/**"],
        srcs_exclude_glob = ["site-packages/**"],
    )

def ironcast_python():
    """Declares @pypi: `@pypi_NAME//:pkg` is package NAME with everything it needs."""
    pip_install_dependencies()
    pip_parse(
        name = "pypi",
        annotations = {name: _as_link(name, package) for name, package in PYTHON_PACKAGES.items()},
        extra_pip_args = PIP_ARGS,

        # pip sees the machine's own configuration: indexes, folders, certificates.
        isolated = False,
        python_interpreter_target = "@local_python//:unpacker",
        requirements_lock = "//third_party/python:requirements_lock.txt",
    )
