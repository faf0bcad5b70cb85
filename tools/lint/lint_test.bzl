"""lint_test: runs a checker over the whole source tree, as a test."""

load("@rules_python//python:defs.bzl", "py_test")

def lint_test(*, name, check, tool = None, deps = [], **kwargs):
    """A test that runs one checker of lint.py.

    Args:
      name: name of the test.
      check: name of the checker.
      tool: label of the program it starts, if any.
      deps: Python packages it needs.
      **kwargs: attributes of the test.
    """
    py_test(
        name = name,
        srcs = ["lint.py"],
        args = [check, "--tree", "$(rootpath //:WORKSPACE)"] +
               (["--tool", "$(rootpath {})".format(tool)] if tool else []),
        data = ["//:WORKSPACE"] + ([tool] if tool else []),
        main = "lint.py",
        # It reads the tree itself, which Bazel does not track, so it is never cached or sandboxed.
        tags = ["external", "lint", "no-sandbox"],
        deps = [":text_checks"] + deps,
        **kwargs
    )
