"""harts_tests: what several harts do together, on boards and, as threads, on the host."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//boards/tests:sanitized_test.bzl", "sanitized_test")
load("//tools/rules:defs.bzl", "bm_image", "bm_runs_test")

# Board -> where images for several harts run.
_ENVS = {
    "qemu_virt_rv64": ["//boards/qemu_virt_rv64:scalar", "//boards/qemu_virt_rv64:vlen256"],
    "qemu_virt_rv64_smode": ["//boards/qemu_virt_rv64_smode:vlen256"],
    "spike_rv64": ["//boards/spike_rv64:qemu_vlen256", "//boards/spike_rv64:vlen256"],
}

def thread_test(*, name, lib):
    """Runs a library with a main on threads in place of harts, 1 to 8 of them, with a thread sanitizer.

    Args:
      name: name of the test.
      lib: label of the library.
    """
    cc_binary(
        name = name + "._threads",
        testonly = True,
        linkopts = ["-pthread"],
        tags = ["manual"],
        deps = [lib, "//runtime_bm/testing:thread_harts"],
    )
    sanitized_test(
        name = name,
        size = "medium",
        # The images are for several; main runs with each number that is tested.
        harts = 8,
        program = name + "._threads",
        sanitizers = ["tsan"],
    )

def harts_test(*, name, harts, expect = "PASS", text = "", lib = "", boards = _ENVS.keys(), envs = {}):
    """Boots a library with a main wherever images for several harts run.

    Args:
      name: prefix of the images and of the tests, `<name>_on_<harts>_harts_test`.
      harts: list of the numbers of harts to build for.
      expect: how it must end.
      text: text that the record must contain.
      lib: label of the library, or the name of one in //runtime_bm/testing/firmwares; default: `name`.
      boards: boards to boot on.
      envs: environments in place of the usual ones, by board.
    """
    for count in harts:
        firmwares = {}
        for board in boards:
            image = "{}._{}_{}".format(name, board, count)
            bm_image(
                name = image,
                testonly = True,
                board = "//boards/" + board,
                harts = count,
                isa = "rv64gc",
                run_env = _ENVS[board][0],
                tags = ["manual"],
                deps = [lib if ":" in lib else "//runtime_bm/testing/firmwares:" + (lib or name)],
            )
            firmwares[image] = envs.get(board, _ENVS[board])
        bm_runs_test(
            name = "{}_on_{}_harts".format(name, count),
            testonly = True,
            # Some machines have too few harts.
            allow_smaller_vlen = bool(envs),
            expect = expect,
            firmwares = firmwares,
            text = text,
        )
