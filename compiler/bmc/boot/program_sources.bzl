"""program_sources: a program of this repository beside a Python module that starts it, also in a wheel."""

load("@rules_python//python:defs.bzl", "PyInfo")

def _program_sources_impl(ctx):
    links = []
    packages = {}
    for file in ctx.attr.program[PyInfo].transitive_sources.to_list():
        if file.owner.workspace_name != ctx.label.workspace_name:
            continue  # pip installs it.
        place = file.short_path.removeprefix("../{}/".format(file.owner.workspace_name))
        if place.startswith("compiler/bmc/"):
            continue  # The module that starts it is there, too.
        link = ctx.actions.declare_file("{}/{}".format(ctx.label.name, place))
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
        folders = place.split("/")[:-1]
        for end in range(len(folders)):
            packages["/".join(folders[:end + 1])] = None

    # So that no other package of these names is found first.
    for package in packages:
        init = ctx.actions.declare_file("{}/{}/__init__.py".format(ctx.label.name, package))
        ctx.actions.write(init, "")
        links.append(init)
    return [DefaultInfo(files = depset(links), runfiles = ctx.runfiles(links))]

program_sources = rule(
    implementation = _program_sources_impl,
    doc = "A folder NAME with the Python files of a program that are not of bmc, by their paths in the repository.",
    attrs = {"program": attr.label(mandatory = True, providers = [PyInfo])},
)
