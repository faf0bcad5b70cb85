"""tree_repo: changes whenever a file of the source tree does, so that a test that reads the tree itself is cached."""

def _tree_repo_impl(ctx):
    root = ctx.workspace_root
    entries = [
        entry
        for entry in root.readdir()
        # The outputs' links, and what tools keep for themselves.
        if not entry.basename.startswith(("bazel-", ".git")) and entry.basename != "user.bazelrc"
    ]
    for entry in entries:
        if entry.is_dir:
            ctx.watch_tree(entry)
        else:
            ctx.watch(entry)
    done = ctx.execute(
        ["sh", "-c", "find \"$@\" -type f ! -path '*/__pycache__/*' | sort | xargs -d '\\n' cksum", "sh"] +
        [entry.basename for entry in entries],
        working_directory = str(root),
    )
    if done.return_code:
        fail("cannot read the source tree: " + done.stderr)
    ctx.file("contents.txt", done.stdout)
    ctx.file("BUILD.bazel", "exports_files([\"contents.txt\"])\n")

tree_repo = repository_rule(
    implementation = _tree_repo_impl,
    doc = "Makes @NAME//:contents.txt, a line with name, size and checksum for every file of the workspace.",
)
