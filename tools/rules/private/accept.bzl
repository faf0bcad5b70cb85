"""check_accepted: what the target would refuse does not build."""

load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

ACCEPT_ATTRS = {
    "_accept": attr.label(default = "//tools/actions/accept", executable = True, cfg = tool_transition),
    "_accept_c": attr.label(default = "//tools/actions/accept:accept_c", cfg = tool_transition),
}

def check_accepted(ctx, c_name, files, plan_object):
    """Runs the runtime's own checks on a model, on the build machine.

    Args:
      ctx: context of a rule with ACCEPT_ATTRS.
      c_name: prefix of the C symbols.
      files: dict from each of MODEL_FILES to its File.
      plan_object: File, plan.c compiled for the target.

    Returns:
      File, a stamp that exists only if the target would accept the model, or if the build machine has no
      host toolchain.
    """
    stamp = ctx.actions.declare_file(ctx.label.name + ".accepted")
    if not ctx.files._accept_c:
        ctx.actions.write(stamp, "")
        return stamp
    program = ctx.files._accept_c[0]
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
        mnemonic = "BmAccept",
        progress_message = "Checking %{label} as its target will",
        tool = ctx.executable._accept,
        arguments = args,
        inputs = [plan_object, files["kernels.elf"], files["report.json"]],
        tools = [program],
        outputs = [stamp],
    )
    return stamp
