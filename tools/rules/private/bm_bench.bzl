"""bm_bench: what each dispatch of an image took on Spike, next to what it could take; bm_cores: modeled cycles on cores."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmFirmwareInfo", "BmRunInfo", "BmTunableInfo")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_run.bzl", "bm_run")
load("//tools/rules/private:model_c.bzl", "BMC_ENV")
load("//tools/rules/private:transitions.bzl", "env_name", "tool_transition")

_SPIKE = Label("//boards/spike_rv64")

# VLENs for which `tools/bazel run //tools/report/bench -- --vlen` has images.
_VLENS = [128, 256, 512, 1024]

_X280 = "sifive-x280"

# Cores that `--core` names instead of the X280: the llvm-mca that has a model of them, and their VLEN.
_MORE_CORES = {
    "spacemit-x60": struct(mca = Label("//third_party/llvm:mca_22"), vlen = 256),
}

def _bm_bench_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".json")
    report = ctx.attr.firmware[BmFirmwareInfo].report
    record = ctx.attr.run[BmRunInfo].record
    (disassembly,) = ctx.attr.firmware[OutputGroupInfo].disasm.to_list()
    args = ctx.actions.args()
    args.add("--report", report)
    args.add("--run", record)
    args.add("--disassembly", disassembly)
    args.add("--mca", ctx.executable.mca)
    args.add("--core", ctx.attr.core)
    args.add("--out", out)
    ctx.actions.run(
        mnemonic = "BmBench",
        progress_message = "Measuring every dispatch of %{label}",
        executable = ctx.executable._measure,
        arguments = [args],
        inputs = [report, record, disassembly],
        tools = [ctx.attr.mca[DefaultInfo].files_to_run],
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

bm_bench = rule(
    implementation = _bm_bench_impl,
    doc = "JSON with a row for every command of every model of an image; `//tools/report/bench` shows it.",
    attrs = {
        "core": attr.string(default = _X280, doc = "The core whose cycles are modeled, as llvm-mca names it."),
        "firmware": attr.label(
            doc = "An image with `profile` for the board spike_rv64.",
            mandatory = True,
            providers = [BmFirmwareInfo],
        ),
        "mca": attr.label(
            default = "//third_party/llvm:mca",
            doc = "An llvm-mca with a model of the core.",
            executable = True,
            cfg = "exec",
        ),
        "run": attr.label(
            doc = "Its run in an environment that counts every instruction.",
            mandatory = True,
            providers = [BmRunInfo],
        ),
        "_measure": attr.label(default = "//tools/report/bench:measure", executable = True, cfg = "exec"),
    },
)

def _model(target):
    """Returns what tools/report/bench/by_core.py reads about a model."""
    info = target[BmTunableInfo]
    return {
        "float_parts": info.float_parts,
        "imported": info.imported.path,
        "name": target.label.name,
        "optimized": info.optimized.path,
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

def benches(*, name, isa, models, hooks, tags, **kwargs):
    """Makes `<name>.bench<VLEN>` for each VLEN, with kernels for just this VLEN and the extensions of an ISA.

    `<name>.bench<VLEN>.<core>` has the cycles of another core than the X280, and `<name>.cores` those that bmc itself
    models of every core.

    Args:
      name: prefix of the targets.
      isa: ISA of the models' firmware.
      models: list of bm_model.
      hooks: cc_library with the models' own console output.
      tags: tags of every target.
      **kwargs: attributes of every target, e.g. visibility.
    """
    manual = dict(kwargs, tags = tags + ["manual"])
    extensions = "".join(["_" + each for each in ISAS.get(isa, {}).get("optional", [])])
    isas = {vlen: "rv64gcv{}_zvl{}b".format(extensions, vlen) for vlen in _VLENS}
    bm_cores(
        name = name + ".cores",
        isas = [bench_isa for bench_isa in isas.values() if bench_isa in ISAS],
        models = models,
        **manual
    )
    for vlen, bench_isa in isas.items():
        if bench_isa not in ISAS:
            continue
        bench = "{}.bench{}".format(name, vlen)
        bm_firmware(
            name = bench + "._image",
            board = _SPIKE,
            hooks = hooks,
            isa = bench_isa,
            models = models,
            profile = True,
            **manual
        )
        bm_run(
            name = bench + "._run",
            exec_env = _SPIKE.same_package_label(env_name(vlen, bench_isa) + "_counted"),
            firmware = bench + "._image",
            **manual
        )
        bm_bench(
            name = bench,
            firmware = bench + "._image",
            run = bench + "._run",
            **manual
        )
        for core, more in _MORE_CORES.items():
            if more.vlen == vlen:
                bm_bench(
                    name = "{}.{}".format(bench, core),
                    core = core,
                    firmware = bench + "._image",
                    mca = more.mca,
                    run = bench + "._run",
                    **manual
                )
