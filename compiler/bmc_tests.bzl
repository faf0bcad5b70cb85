"""The tests of a folder of the compiler, which lie beside the modules that they test."""

load("@rules_python//python:defs.bzl", "py_test")

_RUN = Label("//compiler/tests:run_tests.py")

def bmc_tests(*, name, deps = {}, data = [], env = {}):
    """Defines a test that runs all `*_test.py` of the folder, but those that need a framework: each is its own.

    Each has all of bmc and `support`. A test that needs a framework names it, so it fails if bmc imports another
    one.

    Args:
      name: name of the test of everything that needs no framework.
      deps: test -> the framework's packages.
      data: files that the tests read.
      env: environment variables of the tests.
    """
    files = {
        file.removesuffix(".py").replace("/", "_"): file
        for file in native.glob(["**/*_test.py"])
    }
    for test in deps:
        if test not in files:
            fail("{} is no test of this folder".format(test))
    common = {
        "data": data,
        "env": env,
        "size": "large",
        # The documentation names tests, and //docs/tests checks that each of them exists.
        "visibility": ["//docs/tests:__pkg__"],
    }
    plain = [file for test, file in files.items() if test not in deps]
    py_test(
        name = name,
        srcs = plain + [_RUN],
        args = ["$(rootpath {})".format(file) for file in plain],
        main = _RUN,
        deps = ["//compiler/tests:support"],
        **common
    )
    for test, packages in deps.items():
        py_test(
            name = test,
            srcs = [files[test]],
            deps = ["//compiler/tests:support"] + packages,
            **common
        )
