"""any_isa_program: a program for the machine that builds, built once and not for every ISA of the models."""

load("//tools/rules/private:transitions.bzl", "any_isa_transition")

def _any_isa_program_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = program, target_file = ctx.executable.program, is_executable = True)
    return [DefaultInfo(executable = program, files = depset([program]))]

any_isa_program = rule(
    implementation = _any_isa_program_impl,
    doc = "A program from the one configuration, of those of the machine that builds, in which no ISA was asked for.",
    attrs = {
        "program": attr.label(doc = "cc_binary.", cfg = "target", executable = True, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    cfg = any_isa_transition,
    executable = True,
)
