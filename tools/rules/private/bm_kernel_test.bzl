"""bm_kernel_test: compares kernel libraries with IREE's kernels, one dispatch at a time."""

load("//tools/rules:providers.bzl", "BmRunInfo")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_runs_test.bzl", "bm_runs_test")
load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_kernel_report_impl(ctx):
    run = ctx.attr.run[BmRunInfo]
    report = run.model_reports[1]
    files = [report, run.record]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._compare, files, files))]

_bm_kernel_report = rule(
    implementation = _bm_kernel_report_impl,
    doc = "`bazel run` prints what kernel libraries compute, and what that saves.",
    attrs = {
        "run": attr.label(mandatory = True, providers = [BmRunInfo]),
        "_compare": attr.label(default = "//tools/report/kernel_libraries:compare", executable = True, cfg = "target"),
    },
    executable = True,
)

def bm_kernel_test(*, name, model, exec_envs, isa, expect = "PASS", tags = [], **kwargs):
    """Makes `<name>_test`: each dispatch that a kernel library computes, on random data and the real weights.

    Results of int8 must be the same as those of IREE's kernel, and floats within rounding. `bazel run` of
    `<name>.kernels` prints the comparison, with the instructions of both.

    Args:
      name: prefix of the test, and name of its image.
      model: bm_model with `kernels`.
      exec_envs: list of bm_exec_env, all of one board.
      isa: ISA of the kernels.
      expect: how every run must end, PASS or FAIL.
      tags: tags of the test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    label = native.package_relative_label(model)
    envs = [native.package_relative_label(env) for env in exec_envs]
    boards = {env.same_package_label(env.package.split("/")[-1]): None for env in envs}
    if len(boards) != 1:
        fail("{}: exec_envs belong to {} boards: name environments of one".format(name, len(boards)))
    bm_firmware(
        name = name,
        board = boards.keys()[0],
        expect = "PASS",
        isa = isa,
        main = Label("//runtime_bm/app:kernel_check"),
        models = [label.same_package_label(label.name + ".plain"), label],
        run_env = envs[0],
        shared_arena = False,
        tags = tags + ["manual"],
        **kwargs
    )
    runs = bm_runs_test(
        name = name,
        expect = expect,
        firmwares = {name: envs},
        tags = tags,
        **kwargs
    )
    _bm_kernel_report(
        name = name + ".kernels",
        run = runs[envs[0]],
        tags = tags + ["manual"],
        **kwargs
    )
