"""litex_port: a program that runs a system in gates, with LiteX's BIOS, behind a serial port."""

load("@rules_python//python:defs.bzl", "py_binary")
load(":built_for_tests.bzl", "built_for_tests")

def litex_port(*, name, simulator, bios):
    """`bazel run` of it prints the name of the port.

    Args:
      name: of the program. `<name>.simulator` is the simulator, for tests.
      simulator: litex_simulator.
      bios: litex_bios.
    """
    built_for_tests(
        name = name + ".simulator",
        srcs = [simulator],
        tags = ["manual"],
    )
    py_binary(
        name = name,
        srcs = [Label("//boards/gates:port.py")],
        args = [
            "$(rootpath {}.simulator)".format(name),
            "$(rootpath {})".format(bios),
        ],
        data = [
            bios,
            name + ".simulator",
        ],
        main = Label("//boards/gates:port.py"),
        tags = ["manual"],
        deps = [Label("//tools:cli")],
    )
