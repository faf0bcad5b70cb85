"""any_isa_library: C for the machine that builds, compiled once and not for every ISA of the models."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules/private:transitions.bzl", "any_isa_transition")

def _any_isa_library_impl(ctx):
    return [ctx.attr.library[CcInfo], ctx.attr.library[DefaultInfo]]

any_isa_library = rule(
    implementation = _any_isa_library_impl,
    doc = "A cc_library in the one configuration, of those of the machine that builds, in which no ISA was asked for.",
    attrs = {
        "library": attr.label(doc = "cc_library.", mandatory = True, providers = [CcInfo]),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    cfg = any_isa_transition,
    provides = [CcInfo],
)
