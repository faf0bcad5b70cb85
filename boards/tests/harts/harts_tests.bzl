"""harts_tests: what several harts do together, on boards and, as threads, on the host."""

load("//boards/tests:application_tests.bzl", "interrupts_test")
load("//boards/tests:hardware_tests.bzl", "BOARDS", "hardware_tests")
load("//boards/tests:sanitized_test.bzl", "host_test")
load("//tools/rules:defs.bzl", "bm_exec_env", "bm_runs", "bm_runs_test")

_VECTORS = "rv64gcv_zvl256b"
_IN_QEMU = ["qemu_virt_rv64:vlen256", "qemu_virt_rv64_smode:vlen256"]

# Where images for several harts run.
_SUPERVISOR = ["qemu_virt_rv64_smode:vlen256"]
_GUARDED = ["qemu_virt_rv64:scalar", "qemu_virt_rv64:vlen256", "spike_rv64:qemu_vlen256", "spike_rv64:vlen256"]
_ALL = _GUARDED + _SUPERVISOR

_FIRMWARES = "//runtime_bm/testing/firmwares:"
_PLAN_SHARE = "//runtime_bm/plan:plan_share_test_lib"

# What the name of the tests begins with, before `_on_<harts>_harts_test`; a library with a main; the numbers of harts to
# build it for; where it runs, how it ends, and what its record says.
_TESTS = [
    ("pass", _FIRMWARES + "pass", [2, 4, 8], _ALL, "PASS", ""),
    ("plan_share", _PLAN_SHARE, [2, 3, 8], _ALL, "PASS", ""),
    ("stack_overflow_on_hart", _FIRMWARES + "stack_overflow_on_hart", [3], _GUARDED, "TRAP", "hart=1"),
    # Supervisor mode cannot protect the guard below a stack.
    (
        "stack_overflow_on_hart_smode",
        _FIRMWARES + "stack_overflow_on_hart",
        [2],
        _SUPERVISOR,
        "ERROR",
        "stack overflow: the guard below the stack was",
    ),
    (
        "trap_on_hart",
        _FIRMWARES + "trap_on_hart",
        [4],
        _ALL,
        "TRAP",
        "model=fake dispatch=3 kernel=fake_add hart=3",
    ),
]

# Harts that are threads.
_THREADS = {
    "harts_test": "//runtime_bm/harts:harts_test_lib",
    "missing_harts_test": "//runtime_bm/harts:missing_test_lib",
    "plan_share_test": _PLAN_SHARE,
}

def harts_tests(*, name):
    """Boots libraries with a main wherever images for several harts run, and some on threads of the host.

    Args:
      name: unused; the tests are named by the tables.
    """
    for test, lib in _THREADS.items():
        host_test(
            name = test,
            size = "medium",
            hal = "//runtime_bm/testing:thread_harts",
            # The images are for several; main runs with each number that is tested, 1 to 8.
            harts = 8,
            lib = lib,
            linkopts = ["-pthread"],
            sanitizers = ["tsan"],
        )
    for test, lib, counts, places, expect, text in _TESTS:
        for count in counts:
            bm_runs(
                name = "{}_on_{}_harts".format(test, count),
                testonly = True,
                deps = [lib],
                expect = expect,
                harts = count,
                on = {"rv64gc": places},
                text = text,
            )

    # Machines with two harts, and an image for four.
    firmwares = {}
    for place in _IN_QEMU + ["spike_rv64:vlen256"]:
        board = place.split(":")[0]
        env = board + "_two_harts"
        bm_exec_env(
            name = env,
            base = "//boards/" + place,
            harts = 2,
        )
        firmwares["pass_on_4_harts._" + board] = [env]
    bm_runs_test(
        name = "missing_hart_on_4_harts",
        testonly = True,
        allow_smaller_vlen = True,
        expect = "ERROR",
        firmwares = firmwares,
        text = "hart 2 of 0 to 3 did not start: give the machine 4 harts, or build the image for fewer",
    )

    # A model computes the same bits on one hart and on four.
    bm_runs(
        name = "fixture_on_4_harts",
        testonly = True,
        agree = True,
        firmwares = {"//models/fixture:fixture_rv64": ["//boards/qemu_virt_rv64:vlen512"]},
        harts = 4,
        models = ["//models/fixture"],
        on = {_VECTORS: _IN_QEMU + ["spike_rv64:vlen256"]},
        profile = ["spike_rv64"],
    )

    # Hart 0 is interrupted while it works and while it waits.
    interrupts_test(
        name = "interrupts",
        harts = 4,
        on = {_VECTORS: _IN_QEMU},
    )

    # Boards without an emulator.
    harts = {"bpi_f3": 8, "visionfive2": 4}
    hardware_tests(
        name = "hardware",
        boards = {board: (BOARDS[board][0], ["//models/fixture"]) for board in harts},
        harts = harts,
    )
