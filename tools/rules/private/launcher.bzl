"""Turns `tool` with fixed arguments into this target's executable."""

load("//third_party:runfiles.bzl", "FIND_RUNFILES")

_TEMPLATE = """#!/bin/sh
set -eu
{find}export RUNFILES_DIR="$files"
cd "$files/{workspace}"
exec {command} "$@"
"""

def _quote(text):
    return "'" + text.replace("'", "'\\''") + "'"

def write_launcher(ctx, tool, args, files, extra_runfiles = None):
    """Writes a script that runs `tool` with `args` and the user's own after them.

    Args:
      ctx: the rule's context.
      tool: Target, an executable.
      args: list of string or File; a File becomes its runfiles path.
      files: list of File that the arguments name.
      extra_runfiles: runfiles of programs that the arguments name.

    Returns:
      dict of DefaultInfo's fields `executable` and `runfiles`.
    """
    words = [tool[DefaultInfo].files_to_run.executable] + args
    executable = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        executable,
        _TEMPLATE.format(
            find = FIND_RUNFILES,
            workspace = ctx.workspace_name,
            command = " ".join([
                _quote(word if type(word) == "string" else word.short_path)
                for word in words
            ]),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles(files = files).merge(tool[DefaultInfo].default_runfiles)
    if extra_runfiles:
        runfiles = runfiles.merge(extra_runfiles)
    return {"executable": executable, "runfiles": runfiles}
