"""unit_tests: the runtime's unit tests on the host and on boards."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//boards/tests:sanitized_test.bzl", "sanitized_test")
load("//tools/rules:defs.bzl", "bm_image", "bm_runs_test")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

# Board -> its ISA without vectors, and where its unit tests run: each width and each emulator once.
_ENVS = {
    "qemu_virt_rv32": struct(isa = "rv32imac", env = "//boards/qemu_virt_rv32:scalar"),
    "spike_rv64": struct(isa = "rv64gc", env = "//boards/spike_rv64:vlen256"),
}

# The same code on the other boards of these widths.
_OTHER_ENVS = {
    "qemu_virt_rv64": struct(isa = "rv64gc", env = "//boards/qemu_virt_rv64:vlen256"),
    "spike_rv32": struct(isa = "rv32imac", env = "//boards/spike_rv32:scalar"),
}

def unit_tests(*, name, libs, host_libs, **kwargs):
    """Runs every library with a main on the host, with sanitizers, and on emulated boards.

    Args:
      name: unused; the tests are named after the libraries.
      libs: list of labels `//package:<test>_lib`.
      host_libs: the same, of tests that print records of their own, for which a run on a board would fail.
      **kwargs: attributes of every target.
    """
    for lib in libs + host_libs:
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
        if lib in host_libs:
            continue
        for suffix, envs, tags in [("_on_boards", _ENVS, []), ("_on_other_boards", _OTHER_ENVS, EXHAUSTIVE)]:
            firmwares = {}
            for board, about in envs.items():
                image = "{}._{}".format(test, board)
                bm_image(
                    name = image,
                    testonly = True,
                    board = "//boards/" + board,
                    isa = about.isa,
                    run_env = about.env,
                    tags = ["manual"],
                    deps = [lib],
                    **kwargs
                )
                firmwares[image] = [about.env]
            bm_runs_test(
                name = test.removesuffix("_test") + suffix,
                testonly = True,
                firmwares = firmwares,
                tags = tags,
                **kwargs
            )
