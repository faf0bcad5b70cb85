"""unit_tests: the runtime's unit tests on the host and on boards."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//boards/tests:sanitized_test.bzl", "sanitized_test")
load("//tools/rules:defs.bzl", "bm_image", "bm_runs_test")

# Board -> its ISA without vectors, and where its unit tests run.
_ENVS = {
    "qemu_virt_rv32": struct(isa = "rv32imac", env = "//boards/qemu_virt_rv32:scalar"),
    "qemu_virt_rv64": struct(isa = "rv64gc", env = "//boards/qemu_virt_rv64:vlen256"),
    "spike_rv32": struct(isa = "rv32imac", env = "//boards/spike_rv32:scalar"),
    "spike_rv64": struct(isa = "rv64gc", env = "//boards/spike_rv64:vlen256"),
}

def unit_tests(*, name, libs, **kwargs):
    """Runs every library with a main on the host, with sanitizers, and on emulated boards.

    Args:
      name: unused; the tests are named after the libraries.
      libs: list of labels `//package:<test>_lib`.
      **kwargs: attributes of every target.
    """
    for lib in libs:
        test = lib.split(":")[1].removesuffix("_lib")
        cc_binary(
            name = test + "._host",
            testonly = True,
            # Only run with sanitizers.
            tags = ["manual"],
            deps = [lib, "//boards/host_x86_64:hal"],
            **kwargs
        )
        sanitized_test(
            name = test,
            size = "small",
            program = test + "._host",
            **kwargs
        )
        firmwares = {}
        for board, about in _ENVS.items():
            bm_image(
                name = "{}._{}".format(test, board),
                testonly = True,
                board = "//boards/" + board,
                isa = about.isa,
                run_env = about.env,
                tags = ["manual"],
                deps = [lib],
                **kwargs
            )
            firmwares["{}._{}".format(test, board)] = [about.env]
        bm_runs_test(
            name = test.removesuffix("_test") + "_on_boards",
            testonly = True,
            firmwares = firmwares,
            **kwargs
        )
