"""bm_mutated_model: a model with the largest elements of one weight changed, the negative control of every check."""

load("//tools/rules:providers.bzl", "BmModelInfo")
load("//tools/rules/private:model_c.bzl", "BMC_ENV", "MODEL_ATTRS", "MODEL_RULE", "model_providers")
load("//tools/rules/private:run_tool.bzl", "run_tool")

def _bm_mutated_model_impl(ctx):
    model = ctx.attr.model[BmModelInfo]
    weights = ctx.actions.declare_file(ctx.label.name + "/weights.bin")
    args = ctx.actions.args()
    args.add("mutate")
    args.add("--report", model.report)
    args.add("--weights", model.files["weights.bin"])
    args.add("--out", weights)
    run_tool(
        ctx,
        mnemonic = "BmMutate",
        tool = ctx.executable._bmc,
        arguments = args,
        inputs = [model.report, model.files["weights.bin"]],
        outputs = [weights],
        env = BMC_ENV,
    )
    files = model.files | {"weights.bin": weights}
    return model_providers(
        ctx,
        model.isa,
        model.c_name,
        model.header,
        files,
        model.kernels,
        model.outputs,
        model.fits,
        model.code,
        model.libraries,
    )

bm_mutated_model = rule(
    implementation = _bm_mutated_model_impl,
    doc = "A model that must fail its own check: `bmc mutate` says which weight is changed.",
    attrs = MODEL_ATTRS | {
        "model": attr.label(mandatory = True, providers = [BmModelInfo]),
    },
    **MODEL_RULE
)
