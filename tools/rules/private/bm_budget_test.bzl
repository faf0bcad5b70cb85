"""bm_budget_test: checks an image against its budget, in both directions."""

load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_budget_test_impl(ctx):
    files = [ctx.file.budget, ctx.file.report]
    args = ["check", "--budget", ctx.file.budget, "--report", ctx.file.report]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._size, args, files))]

bm_budget_test = rule(
    implementation = _bm_budget_test_impl,
    doc = "Fails if a number is over its budget, or so far under it that the budget is stale.",
    attrs = {
        "budget": attr.label(doc = "budget.json", allow_single_file = [".json"], mandatory = True),
        "report": attr.label(doc = "A bm_report.", allow_single_file = [".json"], mandatory = True),
        "_size": attr.label(default = "//tools/size", executable = True, cfg = "target"),
    },
    test = True,
)
