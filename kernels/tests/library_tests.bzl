"""library_tests: the tests of a kernel library that need no model."""

load("@rules_python//python:defs.bzl", "py_test")

def library_tests(*, name, extension = None):
    """Makes `take_test`, of the library's matcher, and `instructions_test`, of the instructions that Spike computes.

    Args:
      name: unused; the tests are named after their files.
      extension: bm_spike_extension for instructions that Spike lacks.
    """
    py_test(
        name = "take_test",
        size = "small",
        srcs = ["take.py", "take_test.py"],
        imports = ["."],
        deps = ["//compiler:bmc_lib"],
    )
    programs = {
        "CLANG": "//third_party/llvm:clang",
        "DTC": "//third_party/dtc",
        "SPIKE": "//third_party/spike",
    } | ({"EXTENSION": extension} if extension else {})
    py_test(
        name = "instructions_test",
        size = "small",
        srcs = ["instructions_test.py"],
        data = ["instructions.h"] + programs.values(),
        env = {variable: "$(rootpath {})".format(program) for variable, program in programs.items()},
        tags = ["spike"],
        deps = ["//kernels/tests:instruction_rows"],
    )
