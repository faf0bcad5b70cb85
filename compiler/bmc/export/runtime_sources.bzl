"""runtime_sources: the runtime's sources beside a Python module that reads them, also in a wheel."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

_SourcesInfo = provider(
    doc = "The C files of a cc_library and of its dependencies.",
    fields = {"files": "depset of File: sources and headers."},
)

def _sources_impl(_target, ctx):
    own = getattr(ctx.rule.files, "srcs", []) + getattr(ctx.rule.files, "hdrs", [])
    return [_SourcesInfo(files = depset(
        own,
        transitive = [dep[_SourcesInfo].files for dep in getattr(ctx.rule.attr, "deps", [])],
    ))]

_sources = aspect(
    implementation = _sources_impl,
    doc = "Collects `srcs` and `hdrs` along `deps`.",
    attr_aspects = ["deps"],
    provides = [_SourcesInfo],
)

def _place(file):
    """Returns the path of a file in its repository, wherever that is."""
    return file.short_path.removeprefix("../{}/".format(file.owner.workspace_name))

def _runtime_sources_impl(ctx):
    links = []
    for file in ctx.attr.library[_SourcesInfo].files.to_list() + ctx.files.more:
        link = ctx.actions.declare_file("{}/{}".format(ctx.label.name, _place(file)))
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
    return [DefaultInfo(files = depset(links), runfiles = ctx.runfiles(links))]

runtime_sources = rule(
    implementation = _runtime_sources_impl,
    doc = "A folder NAME with the C files of a library and of all it depends on, by their paths in the repository.",
    attrs = {
        "library": attr.label(aspects = [_sources], mandatory = True, providers = [CcInfo]),
        "more": attr.label_list(allow_files = True, doc = "Other files for the folder."),
    },
)
