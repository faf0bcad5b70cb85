"""fuzz_tests: a second or two of fuzzing in every test run; //tools/campaigns/bytes fuzzes at length."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//boards/tests:sanitized_test.bzl", "sanitized_test")

def fuzz_tests(*, name, targets):
    """Runs fuzz targets with sanitizers on the host.

    One target, with its findings kept:
      tools/bazel run //boards/tests:plan_fuzz -- -runs=-1 -max_total_time=3600 $PWD

    Args:
      name: unused; the tests are named by `targets`.
      targets: dict from a test to the label of its fuzz target.
    """
    for test, lib in targets.items():
        cc_binary(
            name = test + "._host",
            testonly = True,
            linkopts = ["-fsanitize=fuzzer"],
            tags = ["manual"],
            deps = [
                lib,
                "//boards/host_x86_64:hal",
            ],
        )
        sanitized_test(
            name = test,
            size = "small",
            args = [
                "-seed=1",
                "-runs=50000",
                # Firmware's own output.
                "-close_fd_mask=1",
            ],
            # Ten times as many inputs a second.
            mode = "opt",
            program = test + "._host",
            sanitizers = [
                "asan",
                "fuzzer",
                "ubsan",
            ],
            tags = ["fuzz"],
            visibility = [
                "//docs/tests:__pkg__",
                "//tools/campaigns/bytes:__pkg__",
            ],
        )
