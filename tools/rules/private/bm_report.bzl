"""bm_report: an image's report, with the instructions of every dispatch from a real run."""

load("//tools/rules:providers.bzl", "BmFirmwareInfo", "BmRunInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

def _bm_report_impl(ctx):
    full = ctx.actions.declare_file(ctx.label.name + ".json")
    report = ctx.attr.firmware[BmFirmwareInfo].report
    codes = ctx.attr.firmware[BmFirmwareInfo].model_codes
    run = ctx.attr.run[BmRunInfo]
    calls_libraries = ctx.attr.firmware[BmFirmwareInfo].calls_libraries
    plain = [ctx.attr.plain_run[BmRunInfo].record] if calls_libraries else []
    args = ctx.actions.args()
    args.add("merge")
    args.add("--report", report)
    args.add_all(codes, before_each = "--code")
    args.add("--run", run.record)
    args.add_all(plain, before_each = "--plain-run")
    args.add_all(run.clocks, before_each = "--clock")
    args.add("--cycles-of", run.cycles_of)
    args.add("--out", full)
    run_tool(
        ctx,
        mnemonic = "BmFullReport",
        tool = ctx.executable._size,
        arguments = args,
        inputs = [report, run.record] + plain + codes,
        outputs = [full],
    )

    # The board that `--board` names, which has no recorded run.
    chosen = ctx.attr.chosen and BmFirmwareInfo in ctx.attr.chosen
    shown = ctx.attr.chosen[BmFirmwareInfo].report if chosen else full
    show = write_launcher(ctx, ctx.attr._show, [shown], [shown])
    return [DefaultInfo(files = depset([full]), **show)]

bm_report = rule(
    implementation = _bm_report_impl,
    doc = "report.json of an image with measured instructions; `bazel run` prints it in readable form.",
    attrs = {
        "chosen": attr.label(
            doc = "The image for the board that `--board` names, whose sizes `bazel run` prints instead, or `//boards:none`.",
        ),
        "firmware": attr.label(
            doc = "The image whose sizes are reported.",
            mandatory = True,
            providers = [BmFirmwareInfo],
        ),
        "plain_run": attr.label(
            doc = "The same of the models without kernel libraries. Only runs if the image has any.",
            mandatory = True,
            providers = [BmRunInfo],
        ),
        "run": attr.label(
            doc = "A recorded run of the profile build of the same model.",
            mandatory = True,
            providers = [BmRunInfo],
        ),
        "_show": attr.label(default = "//tools/report:show", executable = True, cfg = "target"),
        "_size": attr.label(default = "//tools/report:size", executable = True, cfg = tool_transition),
    },
    executable = True,
)
