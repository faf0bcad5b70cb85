"""runtime_sources: the runtime's sources beside a Python module that reads them, also in a wheel."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:wheel.bzl", "isa_transition")

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
    required_providers = [CcInfo],
)

def _firmware_sources_impl(ctx):
    return [_SourcesInfo(files = depset(transitive = [library[_SourcesInfo].files for library in ctx.attr.libraries]))]

firmware_sources = rule(
    implementation = _firmware_sources_impl,
    doc = "What a runtime_sources takes of libraries that only firmware for an ISA can link.",
    attrs = {
        "isa": attr.string(mandatory = True),
        "libraries": attr.label_list(aspects = [_sources], mandatory = True, providers = [CcInfo]),
    },
    cfg = isa_transition,
    provides = [_SourcesInfo],
)

def _place(file):
    """Returns the path of a file in its repository, wherever that is."""
    return file.short_path.removeprefix("../{}/".format(file.owner.workspace_name))

def _runtime_sources_impl(ctx):
    known = [_place(file) for file in ctx.attr.without[_SourcesInfo].files.to_list()] if ctx.attr.without else []
    sources = depset(transitive = [library[_SourcesInfo].files for library in ctx.attr.libraries])
    links = []
    for file in sources.to_list() + ctx.files.more:
        if _place(file) in known:
            continue
        link = ctx.actions.declare_file("{}/{}".format(ctx.label.name, _place(file)))
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
    return [
        DefaultInfo(files = depset(links), runfiles = ctx.runfiles(links)),
        _SourcesInfo(files = depset(ctx.files.more, transitive = [sources])),
    ]

runtime_sources = rule(
    implementation = _runtime_sources_impl,
    doc = "A folder NAME with the C files of libraries and of all they depend on, by their paths in the repository.",
    attrs = {
        "libraries": attr.label_list(
            aspects = [_sources],
            doc = "cc_library or firmware_sources.",
            mandatory = True,
            providers = [[CcInfo], [_SourcesInfo]],
        ),
        "more": attr.label_list(allow_files = True, doc = "Other files for the folder."),
        "without": attr.label(doc = "runtime_sources whose files it leaves out.", providers = [_SourcesInfo]),
    },
)
