"""bm_measured: an image's report with the instructions that a run counted, its page, and the test of its baseline."""

load("//tools/rules/private:bm_baseline_test.bzl", "bm_baseline_test")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_report.bzl", "bm_report")
load("//tools/rules/private:bm_run.bzl", "bm_run")
load("//tools/rules/private:bm_view.bzl", "bm_view")

def bm_measured(*, name, models, board, isa, exec_env, run, baseline = None, chosen = None, harts = 1, tags = [], **kwargs):
    """Makes `<name>.report`, `<name>.view` and `<name>_baseline_test`.

    If the models have kernel libraries, the report also has what they take without: another image for the same
    environment, which is built for nothing else.

    Args:
      name: the image whose sizes are reported.
      models: its bm_models.
      board: of the run.
      isa: of the kernels.
      exec_env: of the run.
      run: recorded run of a firmware with `profile` for that board, with the same models and ISA.
      chosen: the image for the board that `--board` names, whose sizes the report prints instead, or `//boards:none`.
      harts: of the run.
      baseline: text with a line for this image; without it there is no test.
      tags: tags of every test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    plain = name + "._plain"
    labels = [native.package_relative_label(model) for model in models]
    bm_firmware(
        name = plain,
        board = board,
        harts = harts,
        isa = isa,
        models = [label.same_package_label(label.name + ".plain") for label in labels],
        profile = True,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_run(
        name = plain + ".run",
        exec_env = exec_env,
        firmware = plain,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_report(
        name = name + ".report",
        chosen = chosen,
        firmware = name,
        plain_run = plain + ".run",
        run = run,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_view(
        name = name + ".view",
        report = name + ".report",
        tags = tags + ["manual"],
        **kwargs
    )
    if baseline:
        bm_baseline_test(
            name = name + "_baseline_test",
            baseline = baseline,
            image = name,
            report = name + ".report",
            tags = tags + ["spike"],
            **kwargs
        )
