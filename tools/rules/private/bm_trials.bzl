"""bm_trials: `bazel run` compiles an image's models in other ways, and tries each of them on Spike."""

load("//tools/rules:providers.bzl", "BmTunableInfo")
load("//tools/rules/private:bm_link_kit.bzl", "bm_link_kit")
load("//tools/rules/private:c_names.bzl", "c_name_of")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:transitions.bzl", "env_name")

_SPIKE = Label("//boards/spike_rv64")

def _model(target):
    """Returns what tools/report/tune/trial.py reads about a model."""
    info = target[BmTunableInfo]
    return {
        "c_name": c_name_of(target.label.name),
        "float_parts": info.float_parts,
        "imported": info.imported.short_path,
        "name": target.label.name,
        "optimized": info.optimized.short_path,
        "package": target.label.package,
        "core": info.core,
        "ram": info.ram,
        "stored_weights": info.stored_weights,
        "tuning": info.tuning.short_path if info.tuning else "",
    }

def _bm_trials_impl(ctx):
    infos = [target[BmTunableInfo] for target in ctx.attr.models]
    session = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(session, json.encode_indent({
        "kit": ctx.file.kit.short_path,
        "mca": ctx.executable._mca.short_path,
        "models": [_model(target) for target in ctx.attr.models],
        "objdump": ctx.executable._objdump.short_path,
    }))
    files = [session] + [info.tuning for info in infos if info.tuning]
    for info in infos:
        files += [info.imported, info.optimized]
    runfiles = ctx.runfiles().merge_all([
        target[DefaultInfo].default_runfiles
        for target in [ctx.attr.kit, ctx.attr._mca, ctx.attr._objdump]
    ])
    return [DefaultInfo(
        files = depset([session]),
        **write_launcher(ctx, ctx.attr.program, ["--session", session], files, runfiles)
    )]

bm_trials = rule(
    implementation = _bm_trials_impl,
    doc = "`bazel run` starts a program with what it needs to compile models in other ways and to run them.",
    attrs = {
        "kit": attr.label(
            doc = "A bm_link_kit with `profile`, with one environment, which counts every instruction.",
            allow_single_file = [".json"],
            mandatory = True,
        ),
        "models": attr.label_list(allow_empty = False, mandatory = True, providers = [BmTunableInfo]),
        "program": attr.label(
            doc = "What takes `--session`, a file that tools/report/tune/trial.py reads.",
            executable = True,
            cfg = "exec",
            mandatory = True,
        ),
        "_mca": attr.label(default = "//third_party/llvm:mca", executable = True, cfg = "exec"),
        "_objdump": attr.label(default = "//third_party/llvm:objdump", executable = True, cfg = "exec"),
    },
    executable = True,
)

def trials(*, name, isa, models, tags, vlen, **kwargs):
    """Makes `<name>.tune`, which searches for faster kernels, and `<name>.memory`, which looks for smaller arenas.

    Args:
      name: prefix of the targets.
      isa: ISA of the kernels.
      models: list of bm_model.
      tags: tags of every target.
      vlen: VLEN in bits of the hart that they are tried on.
      **kwargs: attributes of every target, e.g. visibility.
    """
    manual = dict(kwargs, tags = tags + ["manual"])
    bm_link_kit(
        name = name + "._trials_kit",
        board = _SPIKE,
        isa = isa,
        profile = True,
        run_envs = {_SPIKE.same_package_label(env_name(vlen, isa) + "_counted"): "spike"},
        **manual
    )
    for program in ["memory", "tune"]:
        bm_trials(
            name = name + "." + program,
            kit = name + "._trials_kit",
            models = models,
            program = Label("//tools/report/" + program),
            **manual
        )
