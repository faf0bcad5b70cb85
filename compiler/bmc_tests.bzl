"""The tests of a folder of the compiler, which lie beside the modules that they test."""

load("@rules_python//python:defs.bzl", "py_test")

def bmc_tests(*, name, deps = {}, data = {}, env = {}):
    """Defines a test for each `*_test.py` of the folder, and a suite of them.

    Each test has all of bmc and `support`, but no framework. A test that needs one names it, so it fails if bmc
    imports another framework.

    Args:
      name: name of the suite.
      deps: test -> the framework's packages. Frameworks are slow, so such a test has size large.
      data: test -> files it reads.
      env: test -> its environment variables.
    """
    files = {
        file.removesuffix(".py").replace("/", "_"): file
        for file in native.glob(["**/*_test.py"])
    }
    for test in deps.keys() + data.keys() + env.keys():
        if test not in files:
            fail("{} is no test of this folder".format(test))
    for test, file in files.items():
        py_test(
            name = test,
            size = "large" if test in deps else "medium",
            srcs = [file],
            main = file,
            data = data.get(test, []),
            env = env.get(test, {}),
            # The documentation names tests, and //docs/tests checks that each of them exists.
            visibility = ["//docs/tests:__pkg__"],
            deps = ["//compiler/tests:support"] + deps.get(test, []),
        )
    native.test_suite(
        name = name,
        tests = [":" + test for test in files],
    )
