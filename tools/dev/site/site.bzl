"""site: the documentation as a folder of HTML."""

def _site_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add("--tree", ctx.file.tree)
    args.add("--contents", ctx.file.contents)
    args.add_all("--out", [out], expand_directories = False)
    for program, about in ctx.attr.programs.items():
        name, _, source = about.partition(": ")
        args.add_all("--program", [source, name, program[DefaultInfo].files_to_run.executable])
    ctx.actions.run(
        mnemonic = "Site",
        progress_message = "Making the documentation's site, which takes about half a minute",
        executable = ctx.executable._make,
        arguments = [args],
        inputs = [ctx.file.contents, ctx.file.tree],
        outputs = [out],
        tools = [program[DefaultInfo].files_to_run for program in ctx.attr.programs],
        env = {"HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"},
        use_default_shell_env = True,
        # It reads the tree itself. `contents` makes it run again when a file changes.
        execution_requirements = {"block-network": "1", "no-remote": "1", "no-sandbox": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

site = rule(
    implementation = _site_impl,
    doc = "Makes the documentation's site of the source tree; a warning of Sphinx's is an error.",
    attrs = {
        "contents": attr.label(
            doc = "Names and checksums of the tree's files.",
            allow_single_file = True,
            mandatory = True,
        ),
        "programs": attr.label_keyed_string_dict(
            doc = "Programs whose `--help` has a page -> `NAME: FILE`; a link to the file leads to that page.",
            cfg = "exec",
        ),
        "tree": attr.label(
            doc = "WORKSPACE, at the top of the tree.",
            allow_single_file = True,
            mandatory = True,
        ),
        "_make": attr.label(default = "//tools/dev/site:make_site", executable = True, cfg = "exec"),
    },
)
