"""package_files: files of a Python package of the lock, as sources of a model."""

def _package_files_impl(ctx):
    # A package is one folder; see package_repo.
    (package,) = ctx.attr.package[DefaultInfo].default_runfiles.files.to_list()
    for out in ctx.outputs.outs:
        relative = out.short_path.removeprefix("{}/{}/".format(ctx.label.package, ctx.attr.folder))
        ctx.actions.run_shell(
            command = "cp \"$1\" \"$2\"",
            arguments = ["{}/{}".format(package.path, ctx.attr.paths[relative]), out.path],
            inputs = [package],
            mnemonic = "PackageFile",
            outputs = [out],
            progress_message = "Taking %{output} from its package",
        )
    return DefaultInfo(files = depset(ctx.outputs.outs))

_package_files = rule(
    implementation = _package_files_impl,
    attrs = {
        "folder": attr.string(mandatory = True),
        "outs": attr.output_list(mandatory = True),
        "package": attr.label(mandatory = True),
        "paths": attr.string_dict(mandatory = True),
    },
)

def package_files(*, name, package, paths, **kwargs):
    """Takes files out of a package; each is a target `<name>/<file>`.

    Args:
      name: name of the target, and of the folder.
      package: normal name of a package of requirements_lock.txt.
      paths: dict from file to its path below `site-packages`.
      **kwargs: attributes of every rule.
    """
    _package_files(
        name = name,
        folder = name,
        outs = ["{}/{}".format(name, file) for file in paths],
        package = "@pypi_{}//:files".format(package.replace("-", "_")),
        paths = paths,
        **kwargs
    )
