"""How a script finds the files of its program."""

# Shell: sets `files` to the runfiles of the script, of the program that it is a part of, or of its caller.
FIND_RUNFILES = """\
case "$0" in /*) files="$0.runfiles" ;; *) files="$PWD/$0.runfiles" ;; esac
if [ ! -d "$files" ]; then
  case "$files" in *.runfiles/*) files="${files%%.runfiles/*}.runfiles" ;; *) files="${RUNFILES_DIR:-}" ;; esac
fi
"""

def runfiles_path(ctx, file):
    """Returns the path of a file below the runfiles.

    Args:
      ctx: the context of a rule.
      file: File.
    """
    path = file.short_path
    return path[len("../"):] if path.startswith("../") else ctx.workspace_name + "/" + path
