"""A program of an unpacked prefix as an executable target."""

def _prefix_tool_impl(ctx):
    link = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = link, target_file = ctx.file.program, is_executable = True)
    return [DefaultInfo(
        executable = link,
        files = depset([link]),
        runfiles = ctx.runfiles(files = [ctx.file.program] + ctx.files.data),
    )]

prefix_tool = rule(
    implementation = _prefix_tool_impl,
    doc = "Runs `program`, which finds its libraries relative to its real path.",
    attrs = {
        "data": attr.label_list(allow_files = True, doc = "The rest of the unpacked tree, mainly libraries."),
        "program": attr.label(allow_single_file = True, mandatory = True, doc = "A file of the unpacked tree."),
    },
    executable = True,
)
