"""runtime_sources: an aspect that collects the C files of a library and of all it depends on."""

RuntimeSourcesInfo = provider(
    doc = "The C files of a cc_library and of its dependencies.",
    fields = {"files": "depset of File: sources and headers."},
)

def _runtime_sources_impl(_target, ctx):
    own = getattr(ctx.rule.files, "srcs", []) + getattr(ctx.rule.files, "hdrs", [])
    return [RuntimeSourcesInfo(files = depset(
        own,
        transitive = [dep[RuntimeSourcesInfo].files for dep in getattr(ctx.rule.attr, "deps", [])],
    ))]

runtime_sources = aspect(
    implementation = _runtime_sources_impl,
    doc = "Collects `srcs` and `hdrs` along `deps`.",
    attr_aspects = ["deps"],
    provides = [RuntimeSourcesInfo],
)
