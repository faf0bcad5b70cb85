"""litex_simulator: a program of the gates of a system."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("//third_party/verilator:verilated.bzl", "verilated")
load("//tools/rules:defs.bzl", "any_isa_program")

def litex_simulator(*, name, design, header, top):
    """A program that runs an image: `name CYCLES IMAGE.elf`.

    Args:
      name: of the program.
      design: litex_soc.
      header: its soc.h.
      top: the outermost module, which has the pins of soc.py.
    """
    cc_library(
        name = name + "._header",
        hdrs = [header],
        includes = ["."],
        visibility = ["//visibility:private"],
    )
    verilated(
        name = name + "._gates",
        design = design,
        prefix = "System",
        tags = ["manual"],
        target_compatible_with = ["@platforms//os:linux"],
        top = top,
        visibility = ["//visibility:private"],
    )
    cc_binary(
        name = name + "._program",
        srcs = [Label("//boards/gates:simulator.cc")],
        copts = ["-O3"],
        linkopts = ["-lpthread"],
        # Built for the machine that runs tests, and for no other.
        tags = ["manual"],
        target_compatible_with = ["@platforms//os:linux"],
        visibility = ["//visibility:private"],
        deps = [
            name + "._gates",
            name + "._header",
        ],
    )
    any_isa_program(
        name = name,
        program = name + "._program",
        tags = ["manual"],
    )
