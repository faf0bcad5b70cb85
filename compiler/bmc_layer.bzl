"""A layer of the compiler, which is one folder with a list of the layers that it may import."""

load("@pypi//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "py_library", "py_test")
load(":packages.bzl", "BASE")

def bmc_layer(*, name, deps, visibility, srcs = None, data = [], imports = "../..", packages = BASE):
    """Defines a library and a test of its imports.

    Args:
      name: name of the library.
      deps: the layers below it. It may import nothing else from bmc.
      visibility: the layers above it.
      srcs: its files; default: every `.py` file of the folder that is not for tests.
      data: files that it reads.
      imports: path from the package to the folder that contains `bmc`.
      packages: the Python packages that it imports.
    """
    srcs = srcs or native.glob(["**/*.py"], exclude = ["**/*_test.py", "**/*_models.py"])
    py_library(
        name = name,
        srcs = srcs,
        data = data,
        imports = [imports],
        visibility = visibility,
        deps = deps + [requirement(package) for package in packages],
    )
    py_test(
        name = name + "_imports_test",
        size = "small",
        srcs = [Label("//compiler/tests:imports_test.py")],
        args = ["$(rootpaths {})".format(src) for src in srcs],
        data = srcs,
        main = Label("//compiler/tests:imports_test.py"),
        deps = [":" + name],
    )
