"""A Python package's files as one link, not file by file."""

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
    doc = """A link to the unpacked wheel that this package is.

torch alone has twelve thousand files. As inputs they would be hashed by every new Bazel server and
linked one by one into the sandbox of every action that imports it; as a source directory they would
draw a warning from each. What the link leads to changes only with the package's version.
""",
    attrs = {
        "build_file": attr.label(
            allow_single_file = True,
            mandatory = True,
            doc = "The package's BUILD file: it names the version, so that another one is noticed.",
        ),
    },
)
