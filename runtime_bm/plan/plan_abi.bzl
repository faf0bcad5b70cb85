"""plan_abi: the layout of plans as data, from headers."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Where there is no toolchain for the build machine, there is one for RISC-V. Nothing is compiled for it.
def _with_toolchain_impl(_settings, _attr):
    return {"//command_line_option:platforms": [str(Label("//third_party/platforms:riscv64_none"))]}

_with_toolchain = transition(
    implementation = _with_toolchain_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _plan_abi_impl(ctx):
    context = cc_common.merge_compilation_contexts(
        compilation_contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps],
    )
    args = ctx.actions.args()
    args.add("--clang", ctx.executable._clang)
    args.add("--source", ctx.file.src)
    args.add("--out", ctx.outputs.out)
    args.add_all(context.quote_includes, before_each = "-iquote")
    ctx.actions.run(
        mnemonic = "BmPlanAbi",
        progress_message = "Describing plans for %{output}",
        executable = ctx.executable._plan_abi,
        arguments = [args],
        inputs = depset([ctx.file.src], transitive = [context.headers]),
        tools = [ctx.attr._clang[DefaultInfo].files_to_run],
        outputs = [ctx.outputs.out],
    )

plan_abi = rule(
    implementation = _plan_abi_impl,
    doc = "Writes `out`, which says what plan_abi.py says of `src`.",
    attrs = {
        "deps": attr.label_list(cfg = _with_toolchain, doc = "The libraries with its headers.", providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "src": attr.label(allow_single_file = [".c"], mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_clang": attr.label(cfg = "exec", default = "//third_party/llvm:clang", executable = True),
        "_plan_abi": attr.label(cfg = "exec", default = "//runtime_bm/plan:plan_abi_writer", executable = True),
    },
)
