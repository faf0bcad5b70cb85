"""A Python package's files as one link instead of one by one."""

load("@local_python//:defs.bzl", "EXTERNAL")

def _site_packages_impl(ctx):
    link = ctx.actions.declare_symlink("site-packages")
    ctx.actions.symlink(
        output = link,
        target_path = "%s/%s/site-packages" % (EXTERNAL, ctx.label.workspace_name),
    )
    return [DefaultInfo(files = depset([link, ctx.file.build_file]))]

site_packages = rule(
    implementation = _site_packages_impl,
    doc = """A link to the package's unpacked wheel.

torch alone has twelve thousand files. As inputs, every new Bazel server would hash them and every
action that imports torch would link them one by one into its sandbox. As a source directory, they
would cause a warning in each action. The link's target changes only with the package's version.
""",
    attrs = {
        "build_file": attr.label(
            allow_single_file = True,
            mandatory = True,
            doc = "The package's BUILD file. It names the version, so a different one is noticed.",
        ),
    },
)
