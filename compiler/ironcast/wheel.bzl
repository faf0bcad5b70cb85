"""ironcast_wheel: the compiler as a wheel for pip."""

def _ironcast_wheel_impl(ctx):
    out = ctx.actions.declare_file("ironcast-%s-py3-none-any.whl" % ctx.attr.version)

    # What pip installs itself is not in the wheel.
    sources = [
        file
        for file in ctx.attr.library[DefaultInfo].default_runfiles.files.to_list()
        if file.owner.workspace_name == ctx.label.workspace_name
    ]
    folder = ctx.label.package.rpartition("/")[0] + "/"
    args = ctx.actions.args()
    args.add("--out", out)
    args.add("--version", ctx.attr.version)
    args.add_all(ctx.files.license_files, before_each = "--license-file")
    args.add("--lock", ctx.file.lock)
    args.add_all(ctx.attr.base, before_each = "--requires")
    for extra, packages in ctx.attr.extras.items():
        args.add_all(packages, before_each = "--requires", format_each = extra + ":%s")
    for source in sources:
        args.add("%s=%s" % (source.short_path.partition(folder)[2], source.path))
    ctx.actions.run(
        mnemonic = "IroncastWheel",
        executable = ctx.executable._make,
        arguments = [args],
        inputs = sources + ctx.files.license_files + [ctx.file.lock],
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

ironcast_wheel = rule(
    implementation = _ironcast_wheel_impl,
    doc = "A wheel with a library's files, which requires exactly the packages of the lock.",
    attrs = {
        "base": attr.string_list(doc = "Packages that it always requires."),
        "extras": attr.string_list_dict(doc = "Extra -> packages that it requires with it."),
        "library": attr.label(
            doc = "py_library whose files, and those of its `deps` in this workspace, are in the wheel.",
            mandatory = True,
            providers = [PyInfo],
        ),
        "license_files": attr.label_list(allow_files = True, doc = "Texts of its licenses.", mandatory = True),
        "lock": attr.label(
            allow_single_file = True,
            doc = "requirements_lock.txt, which gives the versions.",
            mandatory = True,
        ),
        "version": attr.string(mandatory = True),
        "_make": attr.label(default = "//compiler/ironcast:make_wheel", executable = True, cfg = "exec"),
    },
)
