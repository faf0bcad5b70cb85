"""A program of an unpacked prefix as an executable target."""

def _prefix_tool_impl(ctx):
    link = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = link, target_file = ctx.file.program, is_executable = True)
    return [DefaultInfo(
        executable = link,
        files = depset([link]),
        # `root` and not `program` as well: a sandbox cannot hold a folder and a file inside it.
        runfiles = ctx.runfiles(files = [ctx.file.root]),
    )]

prefix_tool = rule(
    implementation = _prefix_tool_impl,
    doc = "Runs `program`, which finds its libraries in `root` relative to its real place.",
    attrs = {
        "program": attr.label(allow_single_file = True, mandatory = True, doc = "The file below `root`."),
        "root": attr.label(allow_single_file = True, mandatory = True, doc = "The unpacked tree, a source directory."),
    },
    executable = True,
)
