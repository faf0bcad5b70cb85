"""audit_code: what the code of a model's kernels shows."""

load("//tools/rules/private:llvm.bzl", "LLVM_ATTRS", "llvm_files", "llvm_program")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

CODE_ATTRS = LLVM_ATTRS | {
    "scalar_kernels": attr.label(
        doc = """List of the kernels that are known not to be vectorized, with reasons; any other fails the
        build. Without a list the build only says so.""",
        allow_single_file = [".txt"],
    ),
    "_audit": attr.label(default = "//tools/report/bench:audit", executable = True, cfg = tool_transition),
}

def audit_code(ctx, files):
    """Disassembles a model's kernels and looks for products of many numbers without vectors.

    Args:
      ctx: context of a rule with CODE_ATTRS.
      files: dict from each of MODEL_FILES to its File.

    Returns:
      File, JSON with what the code of each kernel shows; nothing links the model without it.
    """
    out = ctx.actions.declare_file(ctx.label.name + ".code.json")
    known = [ctx.file.scalar_kernels] if ctx.file.scalar_kernels else []
    args = ctx.actions.args()
    args.add("--model", "//{}:{}".format(ctx.label.package, ctx.label.name))
    args.add("--report", files["report.json"])
    args.add("--elf", files["kernels.elf"])
    args.add("--objdump", llvm_program(ctx, "objdump"))
    args.add_all(known, before_each = "--known")
    args.add("--out", out)
    run_tool(
        ctx,
        mnemonic = "BmAuditCode",
        progress_message = "Auditing the kernels of %{label}",
        tool = ctx.executable._audit,
        arguments = args,
        inputs = [files["report.json"], files["kernels.elf"]] + known,
        tools = llvm_files(ctx),
        outputs = [out],
    )
    return out
