"""A program of an unpacked prefix as an executable target."""

load("//third_party:runfiles.bzl", "FIND_RUNFILES", "runfiles_path")

# A link would not do: on another machine, a link is a copy, and a copy does not find its libraries.
_SCRIPT = """\
#!/bin/sh
{find}exec "$files/{program}" "$@"
"""

def _prefix_tool_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name)
    text = _SCRIPT.format(find = FIND_RUNFILES, program = runfiles_path(ctx, ctx.file.program))
    ctx.actions.write(script, text, is_executable = True)
    return [DefaultInfo(
        executable = script,
        files = depset([script]),
        runfiles = ctx.runfiles(files = [script, ctx.file.program] + ctx.files.data),
    )]

prefix_tool = rule(
    implementation = _prefix_tool_impl,
    doc = "Runs `program`, which finds its libraries relative to itself.",
    attrs = {
        "data": attr.label_list(allow_files = True, doc = "The rest of the unpacked tree, mainly libraries."),
        "program": attr.label(allow_single_file = True, mandatory = True, doc = "A file of the unpacked tree."),
    },
    executable = True,
)
