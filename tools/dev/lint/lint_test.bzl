"""lint_test: runs a checker over the whole source tree, as a test."""

load("@rules_python//python:defs.bzl", "py_test")

def lint_test(*, name, check, part = "contents", tool = None, deps = [], **kwargs):
    """A test that runs one checker of lint.py.

    Args:
      name: name of the test.
      check: name of the checker.
      part: the list in @tree of the files that it reads.
      tool: label of the program it starts, if any.
      deps: Python packages it needs.
      **kwargs: attributes of the test.
    """
    py_test(
        name = name,
        srcs = ["lint.py"],
        args = [check, "--tree", "$(rootpath //:WORKSPACE)"] +
               (["--tool", "$(rootpath {})".format(tool)] if tool else []),
        # It reads the tree itself, so it runs unsandboxed. @tree has it run again when a file changes.
        data = ["//:WORKSPACE", "@tree//:{}.txt".format(part)] + ([tool] if tool else []),
        main = "lint.py",
        tags = ["lint", "local"],
        deps = [":text_checks", "//tools:cli"] + deps,
        **kwargs
    )
