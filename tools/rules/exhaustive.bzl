"""Suites of a package's tests: what wildcards leave out of a build (`//:exhaustive` has all of that), and emulators."""

# Tags of tests, and of what only they need, that prove something again: another board with the same code, another
# vector length, a network that is only larger.
EXHAUSTIVE = ["exhaustive", "manual"]

def exhaustive_suite(*, name = "exhaustive", tag = "exhaustive"):
    """Makes the suite of the package's tests with a tag that run without a board. It comes last in a BUILD file.

    Args:
      name: name of the suite.
      tag: tag of the tests.
    """
    native.test_suite(
        name = name,
        tags = ["manual"],
        tests = [
            rule
            for rule, attrs in native.existing_rules().items()
            if attrs["kind"].endswith("_test") and tag in attrs["tags"] and "external" not in attrs["tags"]
        ],
        visibility = ["//visibility:public"],
    )

def emulator_suites(*, name = "_test"):
    """Makes the suites `qemu_test` and `spike_test` of the package's tests in each emulator.

    Args:
      name: what their names end in.
    """
    for emulator in ["qemu", "spike"]:
        native.test_suite(
            name = emulator + name,
            tags = [emulator],
        )
