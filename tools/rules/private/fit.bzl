"""check_fit: what the target would refuse does not build."""

load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

FIT_ATTRS = {
    "_fit": attr.label(default = "//tools/fit", executable = True, cfg = tool_transition),
    "_fit_c": attr.label(default = "//tools/fit:fit_c", cfg = tool_transition),
}

def check_fit(ctx, c_name, files, plan_object):
    """Runs the runtime's own checks on a model, on the build machine.

    Args:
      ctx: context of a rule with FIT_ATTRS.
      c_name: prefix of the C symbols.
      files: dict from each of MODEL_FILES to its File.
      plan_object: File, plan.c compiled for the target.

    Returns:
      File, a stamp that exists only if the target would accept the model, or if the build machine has no
      host toolchain.
    """
    stamp = ctx.actions.declare_file(ctx.label.name + ".fits")
    if not ctx.files._fit_c:
        ctx.actions.write(stamp, "")
        return stamp
    program = ctx.files._fit_c[0]
    args = ctx.actions.args()
    args.add("--model", "//{}:{}".format(ctx.label.package, ctx.label.name))
    args.add("--plan", files["plan.c"].path)
    args.add("--plan-object", plan_object)
    args.add("--name", c_name)
    args.add("--program", program)
    args.add("--kernels", files["kernels.elf"])
    args.add("--report", files["report.json"])
    args.add("--out", stamp)
    run_tool(
        ctx,
        mnemonic = "BmFit",
        progress_message = "Checking %{label} as its target will",
        tool = ctx.executable._fit,
        arguments = args,
        inputs = [plan_object, files["kernels.elf"], files["report.json"]],
        tools = [program],
        outputs = [stamp],
    )
    return stamp
