"""bm_run_test: judges recorded runs."""

load("//tools/rules:providers.bzl", "BmRunInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_run_test_impl(ctx):
    records = [run[BmRunInfo].record for run in ctx.attr.runs]
    expect = ctx.attr.expect or ctx.attr.runs[0][BmRunInfo].expect
    args = ["--expect", expect, "--text", ctx.attr.text]
    if ctx.attr.agree:
        args.append("--agree")

    # Runs that are judged together have the same models.
    reports = ctx.attr.runs[0][BmRunInfo].model_reports
    for report in reports:
        args += ["--model-report", report]
    files = records + reports
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._judge, args + records, files))]

bm_run_test = rule(
    implementation = _bm_run_test_impl,
    doc = """Passes if every run ended as expected, or if all runs passed and computed the same bits.

    The emulator has already run, in the bm_run targets: no run is repeated just to look at it again.""",
    attrs = {
        "agree": attr.bool(doc = "All runs must pass and print the same HASH."),
        "expect": attr.string(
            doc = "How every run must end. Empty: as a good run of the first one's firmware does.",
            values = ["", "PASS", "FAIL", "ERROR", "TRAP", "EXIT"],
        ),
        "runs": attr.label_list(mandatory = True, providers = [BmRunInfo]),
        "text": attr.string(doc = "Text that the expected record must contain; for EXIT, a line of the console."),
        "_judge": attr.label(
            default = "//tools/run:judge",
            executable = True,
            cfg = "target",
        ),
    },
    test = True,
)
