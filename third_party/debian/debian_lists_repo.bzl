"""The package lists of this machine's Debian sources, downloaded once for all debian_tools_repo."""

def _debian_lists_repo_impl(rctx):
    rctx.watch(rctx.attr._apt)
    rctx.file("BUILD.bazel", "")
    python = rctx.which("python3")
    if not python:
        fail("`python3` is not on PATH: install it. This project needs only python3 and apt.")
    if not rctx.which("apt-get"):
        # Not a Debian: the user must then name every tool, and nothing needs the lists.
        return
    rctx.report_progress("downloading Debian's package lists")
    done = rctx.execute([python, rctx.path(rctx.attr._tools), "lists", rctx.path("state")], timeout = 600)
    if done.return_code != 0:
        fail(done.stderr.strip())

debian_lists_repo = repository_rule(
    implementation = _debian_lists_repo_impl,
    doc = "Fills @NAME//:state/lists by `apt-get update` with private state; signatures are checked by apt.",
    attrs = {
        "_apt": attr.label(default = "//third_party/debian:apt.py"),
        "_tools": attr.label(default = "//third_party/debian:tools.py"),
    },
)
