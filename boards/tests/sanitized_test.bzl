"""sanitized_test: a host program built with sanitizers, including all its libraries. host_test: the same of a library."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

_FEATURES = "//command_line_option:features"
_MODE = "//command_line_option:compilation_mode"
_HARTS = "//runtime_bm/harts:count"

def _sanitizers_impl(settings, attr):
    return {
        _FEATURES: settings[_FEATURES] + attr.sanitizers,
        _MODE: attr.mode or settings[_MODE],
        _HARTS: attr.harts,
    }

_sanitizers = transition(
    implementation = _sanitizers_impl,
    inputs = [_FEATURES, _MODE],
    outputs = [_FEATURES, _MODE, _HARTS],
)

def _sanitized_test_impl(ctx):
    program = ctx.attr.program[0][DefaultInfo]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = executable,
        target_file = program.files_to_run.executable,
        is_executable = True,
    )
    return [DefaultInfo(executable = executable, runfiles = program.default_runfiles)]

sanitized_test = rule(
    implementation = _sanitized_test_impl,
    doc = """Runs a program whose closure is built with toolchain features such as `asan`.

    A `features` attribute applies to one target only. This also applies to the libraries, so an
    ordinary `test //...` runs the sanitizers without a second configuration.""",
    attrs = {
        "harts": attr.int(doc = "Harts that the runtime is built for.", default = 1),
        "mode": attr.string(doc = "Compilation mode; if empty, that of the build."),
        "program": attr.label(
            doc = "cc_binary or cc_test.",
            cfg = _sanitizers,
            executable = True,
            mandatory = True,
        ),
        "sanitizers": attr.string_list(
            doc = "Features of the host's C++ toolchain.",
            default = ["asan", "ubsan"],
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
)

def host_test(*, name, lib, hal = "//boards/host_x86_64:hal", linkopts = [], size = "small", **kwargs):
    """Makes the sanitized_test of a library with a main.

    Args:
      name: name of the test.
      lib: label of the library.
      hal: library that stands for a board.
      linkopts: of the program.
      size: of the test.
      **kwargs: other attributes of the test.
    """
    cc_binary(
        name = name + "._host",
        testonly = True,
        linkopts = linkopts,
        # Only run with sanitizers.
        tags = ["manual"],
        deps = [lib, hal],
    )
    sanitized_test(
        name = name,
        size = size,
        program = name + "._host",
        **kwargs
    )
