"""unit_tests, fuzz_tests: C of the runtime on the host, with sanitizers, and on boards."""

load("//boards/tests:sanitized_test.bzl", "host_test")
load("//tools/rules:defs.bzl", "bm_runs")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

_LIBS = [
    "//boards/common:device_tree_test_lib",
    "//examples/mlperf_tiny:protocol_test_lib",
    "//runtime_bm/app:compare_test_lib",
    "//runtime_bm/app:models_test_lib",
    "//runtime_bm/app:self_check_test_lib",
    "//runtime_bm/app:service_test_lib",
    "//runtime_bm/app:workgroup_check_test_lib",
    "//runtime_bm/base:base_test_lib",
    "//runtime_bm/crt:memory_test_lib",
    "//runtime_bm/crt:soft_float_test_lib",
    "//runtime_bm/crt:sqrt_test_lib",
    "//runtime_bm/elf:elf_loader_test_lib",
    "//runtime_bm/exec:call_test_lib",
    "//runtime_bm/exec:executable_test_lib",
    "//runtime_bm/model:model_linked_test_lib",
    "//runtime_bm/model:model_test_lib",
    "//runtime_bm/plan:plan_driver_test_lib",
    "//runtime_bm/plan:plan_order_test_lib",
    "//runtime_bm/plan:plan_run_test_lib",
    "//runtime_bm/plan:plan_transfer_test_lib",
    "//runtime_bm/plan:plan_verify_test_lib",
    "//runtime_bm/text:sampler_test_lib",
    "//runtime_bm/text:tokenizer_test_lib",
]

# They print records of their own, for which a run on a board would fail.
_HOST_LIBS = ["//runtime_bm/app:self_check_run_test_lib"]

# What the names of tests on boards end in -> where they run, and their tags: each width and each emulator once, and the
# same code on the other boards of these widths.
_BOARDS = {
    "_on_boards": ({"rv32imac": ["qemu_virt_rv32:scalar"], "rv64gc": ["spike_rv64:vlen256"]}, []),
    "_on_other_boards": ({"rv32imac": ["spike_rv32:scalar"], "rv64gc": ["qemu_virt_rv64:vlen256"]}, EXHAUSTIVE),
}

_FUZZ_TARGETS = {
    "device_tree_fuzz": "//boards/common:device_tree_fuzz_lib",
    "driver_fuzz": "//runtime_bm/testing/fuzz:driver_fuzz",
    "elf_loader_fuzz": "//runtime_bm/testing/fuzz:elf_loader_fuzz",
    "golden_fuzz": "//runtime_bm/testing/fuzz:golden_fuzz",
    "plan_fuzz": "//runtime_bm/testing/fuzz:plan_fuzz",
    "protocol_fuzz": "//examples/mlperf_tiny:protocol_fuzz_lib",
    "service_fuzz": "//runtime_bm/testing/fuzz:service_fuzz",
    "tokenizer_fuzz": "//runtime_bm/testing/fuzz:tokenizer_fuzz",
}

def unit_tests(*, name):
    """Runs every library with a main on the host, with sanitizers, and on emulated boards.

    Args:
      name: unused; the tests are named after the libraries.
    """
    for lib in _LIBS + _HOST_LIBS:
        test = Label(lib).name.removesuffix("_lib")
        host_test(name = test, lib = lib)
        if lib in _HOST_LIBS:
            continue
        for suffix, (on, tags) in _BOARDS.items():
            bm_runs(
                name = test.removesuffix("_test") + suffix,
                testonly = True,
                deps = [lib],
                on = on,
                tags = tags,
            )

def fuzz_tests(*, name):
    """Runs fuzz targets on the host, with sanitizers, for a second or two; //tools/campaigns/bytes fuzzes at length.

    One target, with its findings kept:
      tools/bazel run //boards/tests:plan_fuzz -- -runs=-1 -max_total_time=3600 $PWD

    Args:
      name: unused; the tests are named after the targets.
    """
    for test, lib in _FUZZ_TARGETS.items():
        host_test(
            name = test,
            args = [
                "-seed=1",
                "-runs=50000",
                # Firmware's own output.
                "-close_fd_mask=1",
            ],
            lib = lib,
            linkopts = ["-fsanitize=fuzzer"],
            # Ten times as many inputs a second.
            mode = "opt",
            sanitizers = ["asan", "fuzzer", "ubsan"],
            tags = ["fuzz"],
            visibility = ["//docs/tests:__pkg__", "//tools/campaigns/bytes:__pkg__"],
        )
