"""any_isa_program: a program for the machine that builds, built once and not for every ISA of the models."""

load("//tools/rules/private:transitions.bzl", "any_isa_transition")

def _any_isa_program_impl(ctx):
    return [DefaultInfo(files = depset([ctx.executable.program]))]

any_isa_program = rule(
    implementation = _any_isa_program_impl,
    doc = "The file of a program from the one configuration, of those of the machine that builds, in which no ISA was asked for.",
    attrs = {
        "program": attr.label(doc = "cc_binary.", cfg = "target", executable = True, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    cfg = any_isa_transition,
)
