"""Builds a target for another platform, as boards do for firmware."""

def _to_platform_impl(_settings, attr):
    return {"//command_line_option:platforms": [attr.platform]}

_to_platform = transition(
    implementation = _to_platform_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _for_platform_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.target))]

for_platform = rule(
    implementation = _for_platform_impl,
    attrs = {
        "platform": attr.string(mandatory = True, doc = "Label of the platform."),
        "target": attr.label(cfg = _to_platform, mandatory = True, doc = "What to build."),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)
