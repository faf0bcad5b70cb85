"""bm_assert_no_dependency: an arrow of ARCHITECTURE.md as a test."""

_SCRIPT = """#!/bin/sh
if [ -s "{found}" ]; then
  echo "{target} must not depend on {forbidden}: {why}"
  echo "It does, on:"
  cat "{found}"
  exit 1
fi
"""

def _bm_no_dependency_test_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    found = ctx.file.found
    ctx.actions.write(
        script,
        _SCRIPT.format(
            forbidden = ctx.attr.forbidden,
            found = found.short_path,
            target = ctx.attr.target,
            why = ctx.attr.why,
        ),
        is_executable = True,
    )
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files = [found]))]

_bm_no_dependency_test = rule(
    implementation = _bm_no_dependency_test_impl,
    attrs = {
        "forbidden": attr.string(mandatory = True),
        "found": attr.label(allow_single_file = True, mandatory = True),
        "target": attr.string(mandatory = True),
        "why": attr.string(mandatory = True),
    },
    test = True,
)

def bm_assert_no_dependency(*, name, target, forbidden, why, **kwargs):
    """Fails if the closure of `target` contains a label that matches `forbidden`.

    Args:
      name: name of the test.
      target: label whose closure is checked.
      forbidden: regular expression on labels, e.g. `^//boards[/:]`.
      why: the reason, printed on failure.
      **kwargs: attributes of the test.
    """
    native.genquery(
        name = name + "._found",
        expression = "filter('{}', deps({}))".format(forbidden, target),
        scope = [target],
        testonly = True,
    )
    _bm_no_dependency_test(
        name = name,
        forbidden = forbidden,
        found = name + "._found",
        target = target,
        why = why,
        **kwargs
    )
