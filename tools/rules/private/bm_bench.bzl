"""bm_bench: what each dispatch of an image took on Spike, next to what it could take."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmFirmwareInfo", "BmRunInfo")
load("//tools/rules/private:bm_cores.bzl", "bm_cores")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_run.bzl", "bm_run")
load("//tools/rules/private:transitions.bzl", "env_name")

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
