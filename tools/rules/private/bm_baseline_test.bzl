"""bm_baseline_test: holds an image to its line of a baseline, in both directions."""

load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_baseline_test_impl(ctx):
    files = [ctx.file.baseline, ctx.file.report]
    args = ["check", "--baseline", ctx.file.baseline, "--image", ctx.attr.image, "--report", ctx.file.report]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._size, args, files))]

bm_baseline_test = rule(
    implementation = _bm_baseline_test_impl,
    doc = "Fails if a number is 2 % worse than the baseline's, or 2 % better, so that the baseline is stale.",
    attrs = {
        "baseline": attr.label(
            doc = "Text with a line for each image; tools/report/baseline.py has the format.",
            allow_single_file = [".txt"],
            mandatory = True,
        ),
        "image": attr.string(doc = "Name of the image in the baseline.", mandatory = True),
        "report": attr.label(doc = "A bm_report.", allow_single_file = [".json"], mandatory = True),
        "_size": attr.label(default = "//tools/report:size", executable = True, cfg = "target"),
    },
    test = True,
)
