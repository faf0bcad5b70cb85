"""bm_measured: an image's report with the instructions that a run counted, its page, and the test of its baseline."""

load("//tools/rules/private:bm_baseline_test.bzl", "bm_baseline_test")
load("//tools/rules/private:bm_report.bzl", "bm_report")
load("//tools/rules/private:bm_view.bzl", "bm_view")

def bm_measured(*, name, run, baseline = None, tags = [], **kwargs):
    """Makes `<name>.report`, `<name>.view` and `<name>_baseline_test`.

    Args:
      name: the image whose sizes are reported.
      run: recorded run of a firmware with `profile` for Spike, with the same models and ISA.
      baseline: text with a line for this image; without it there is no test.
      tags: tags of every test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    bm_report(
        name = name + ".report",
        firmware = name,
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
