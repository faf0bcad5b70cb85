"""tree_repo: changes whenever a file of the source tree does, so that a test that reads the tree itself is cached."""

# Part -> how the names of its files end, its checker's settings too.
_LANGUAGES = {
    "c": (".c", ".h", ".cc", ".clang-format", ".clang-tidy"),
    "python": (".py", "/pyproject.toml", " pyproject.toml"),
    "starlark": (".bzl", ".bazel", " WORKSPACE", "/WORKSPACE"),
}

def _of_a_network(name):
    parts = name.split("/")
    return parts[0] == "models" and len(parts) > 2 and parts[1] != "support"

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
    lines = done.stdout.splitlines()
    parts = {"contents": lines} | {
        part: [line for line in lines if line.endswith(ends)]
        for part, ends in _LANGUAGES.items()
    } | {"without_networks": [line for line in lines if not _of_a_network(line.split(" ", 2)[2])]}
    for part, lines in parts.items():
        ctx.file(part + ".txt", "".join([line + "\n" for line in lines]))
    ctx.file("BUILD.bazel", "exports_files({})\n".format([part + ".txt" for part in parts]))

tree_repo = repository_rule(
    implementation = _tree_repo_impl,
    doc = "Makes @NAME//:contents.txt, a line with checksum, size and name for every file of the workspace, and parts of " +
          "it: c.txt, python.txt, starlark.txt, and without_networks.txt, without the folders of networks in models/.",
)
