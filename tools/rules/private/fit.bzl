"""check_fit: what the target would refuse does not build."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

FIT_ATTRS = {
    "_fit": attr.label(default = "//tools/fit", executable = True, cfg = "exec"),
    "_fit_c": attr.label(default = "//tools/fit:host_c", cfg = "exec"),
    "_host_cc": attr.label(default = "//tools/fit:host_cc", cfg = "exec"),
}

# The check does not read weights, and it opens the kernels from their ELF.
_FIT_C = """// Generated: the plan of a model, to be checked on the build machine.
#include "{plan_c}"

#include "tools/fit/fit.h"

_Alignas(BM_PLAN_ALIGNMENT) const uint8_t {name}_weights[1] = {{0}};
const uint8_t {name}_kernels[1] = {{0}};
const void *{name}_library_query(uint32_t max_version, const void *environment) {{
  (void)max_version;
  (void)environment;
  return NULL;
}}
const bm_plan_t *const fit_plan = &{name}_plan;
"""

def _link(ctx, c_name, plan_c, plan_h):
    """Returns tools/fit/fit.c with the plan of a model, as a host program."""
    toolchain = ctx.attr._host_cc[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        unsupported_features = ctx.disabled_features,
    )
    source = ctx.actions.declare_file(ctx.label.name + ".fit.c")
    ctx.actions.write(source, _FIT_C.format(name = c_name, plan_c = plan_c.short_path))
    library = ctx.attr._fit_c[CcInfo]
    _, outputs = cc_common.compile(
        name = ctx.label.name + ".fit",
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [source],
        additional_inputs = [plan_c, plan_h],
        compilation_contexts = [library.compilation_context],
    )
    return cc_common.link(
        name = ctx.label.name + ".fit",
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        linking_contexts = [library.linking_context],
    ).executable

def check_fit(ctx, c_name, files):
    """Runs the runtime's own checks on a model, compiled for the build machine.

    Args:
      ctx: context of a rule with FIT_ATTRS.
      c_name: prefix of the C symbols.
      files: dict from each of MODEL_FILES to its File.

    Returns:
      File, a stamp that exists only if the target would accept the model, or if the build machine has no
      host toolchain.
    """
    stamp = ctx.actions.declare_file(ctx.label.name + ".fits")
    if CcInfo not in ctx.attr._fit_c:
        ctx.actions.write(stamp, "")
        return stamp
    program = _link(ctx, c_name, files["plan.c"], files["plan.h"])
    args = ctx.actions.args()
    args.add("--model", "//{}:{}".format(ctx.label.package, ctx.label.name))
    args.add("--plan", files["plan.c"].path)
    args.add("--program", program)
    args.add("--kernels", files["kernels.elf"])
    args.add("--report", files["report.json"])
    args.add("--out", stamp)
    ctx.actions.run(
        mnemonic = "BmFit",
        progress_message = "Checking %{label} as its target will",
        executable = ctx.executable._fit,
        arguments = [args],
        inputs = [files["kernels.elf"], files["report.json"]],
        tools = [program],
        outputs = [stamp],
    )
    return stamp
