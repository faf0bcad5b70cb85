"""bm_view: `bazel run` writes a page that shows what an image costs."""

load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_view_impl(ctx):
    report, d3 = ctx.file.report, ctx.file._d3
    args = ["--report", report, "--d3", d3]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._view, args, [report, d3]))]

bm_view = rule(
    implementation = _bm_view_impl,
    doc = "`bazel run` writes an HTML file made of an image's report, and prints its path.",
    attrs = {
        "report": attr.label(allow_single_file = [".json"], doc = "A bm_report.", mandatory = True),
        "_d3": attr.label(allow_single_file = True, default = "//third_party/d3"),
        "_view": attr.label(default = "//tools/report/view", executable = True, cfg = "target"),
    },
    executable = True,
)
