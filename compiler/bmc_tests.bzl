"""The tests of a folder of the compiler, which lie beside the modules that they test."""

load("@rules_python//python:defs.bzl", "py_test")

_RUN = Label("//compiler/tests:run_tests.py")

def bmc_tests(*, name, deps = {}, groups = {}, data = [], env = {}):
    """Defines a test that runs all `*_test.py` of the folder, and others for the files that need a framework.

    Each has all of bmc and `support`. A test that needs a framework names it, so it fails if bmc imports another
    one. Files that need the same framework are a group, which loads it once.

    Args:
      name: name of the test of everything that needs no framework.
      deps: a file without `.py`, or a group of them -> the framework's packages.
      groups: the files of each group.
      data: files that the tests read.
      env: environment variables of the tests.
    """
    files = {
        file.removesuffix(".py").replace("/", "_"): file
        for file in native.glob(["**/*_test.py"])
    }
    framework = {test: groups.get(test, [test]) for test in deps}
    apart = [file for group in framework.values() for file in group]
    for file in apart:
        if file not in files:
            fail("{} is no test of this folder".format(file))
    plain = [file for file in files if file not in apart]
    for test, group in ({name: plain} | framework).items():
        sources = [files[file] for file in group]
        py_test(
            name = test,
            srcs = sources + [_RUN],
            args = ["$(rootpath {})".format(source) for source in sources],
            data = data,
            env = env,
            main = _RUN,
            size = "large",
            # The documentation names tests, and //docs/tests checks that each of them exists.
            visibility = ["//docs/tests:__pkg__"],
            deps = ["//compiler/tests:support"] + deps.get(test, []),
        )
