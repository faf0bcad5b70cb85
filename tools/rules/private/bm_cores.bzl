"""bm_cores: modeled cycles of an image's models on every core."""

load("//tools/rules:providers.bzl", "BmTunableInfo")
load("//tools/rules/private:model_c.bzl", "BMC_ENV")
load("//tools/rules/private:transitions.bzl", "tool_transition")

def _model(target):
    """Returns what tools/report/bench/by_core.py reads about a model."""
    info = target[BmTunableInfo]
    return {
        "float_parts": info.float_parts,
        "imported": info.imported.path,
        "name": target.label.name,
        "optimized": info.optimized.path,
        "ram": info.ram,
        "stored_weights": info.stored_weights,
        "tuning": info.tuning.path if info.tuning else "",
    }

def _bm_cores_impl(ctx):
    infos = [target[BmTunableInfo] for target in ctx.attr.models]
    models = ctx.actions.declare_file(ctx.label.name + "._models.json")
    ctx.actions.write(models, json.encode({
        "isas": ctx.attr.isas,
        "models": [_model(target) for target in ctx.attr.models],
    }))
    out = ctx.actions.declare_file(ctx.label.name + ".json")
    args = ctx.actions.args()
    args.add("--models", models)
    args.add("--out", out)
    ctx.actions.run(
        mnemonic = "BmCores",
        progress_message = "Modeling cycles on every core: %{label}",
        executable = ctx.executable._by_core,
        arguments = [args],
        inputs = [models] + [info.imported for info in infos] + [info.optimized for info in infos] +
                 [info.tuning for info in infos if info.tuning],
        outputs = [out],
        env = BMC_ENV,
        execution_requirements = {"block-network": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

bm_cores = rule(
    implementation = _bm_cores_impl,
    doc = "JSON with modeled cycles of each model of an image on every core; `//tools/report/bench -- --cores` shows it.",
    attrs = {
        "isas": attr.string_list(doc = "An ISA for each VLEN.", mandatory = True),
        "models": attr.label_list(allow_empty = False, mandatory = True, providers = [BmTunableInfo]),
        "_by_core": attr.label(default = "//tools/report/bench:by_core", executable = True, cfg = tool_transition),
    },
)
