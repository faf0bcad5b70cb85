"""documented: targets that the pages name; a target that does not exist fails the build."""

def _documented_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(out, "\n".join(ctx.attr.names) + "\n")
    return [DefaultInfo(files = depset([out]))]

_documented = rule(
    implementation = _documented_impl,
    doc = "Writes the names of targets into a file; the targets are looked up, not built.",
    attrs = {
        "names": attr.string_list(doc = "The targets as the pages name them."),
        "targets": attr.label_list(
            doc = "The same, to be looked up. A build checks what it depends on, except by tools.",
            cfg = "exec",
        ),
    },
)

def documented(*, name, targets, **kwargs):
    """A file with the names of targets that exist.

    Args:
      name: name of the target.
      targets: labels as pages name them.
      **kwargs: attributes of the rule.
    """
    _documented(name = name, names = targets, targets = targets, **kwargs)
