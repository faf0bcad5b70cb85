"""bm_measured: an image's report with instructions counted on Spike, and its budget."""

load("//tools/rules/private:bm_budget_test.bzl", "bm_budget_test")
load("//tools/rules/private:bm_report.bzl", "bm_report")

def bm_measured(*, name, run, budget = None, tags = [], **kwargs):
    """Makes `<name>.report` and the budget's test.

    Args:
      name: the image whose sizes are reported.
      run: recorded run on Spike of a firmware with `profile`, with the same models and ISA.
      budget: budget.json; without it there is no budget test.
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
    if budget:
        bm_budget_test(
            name = name + "_budget_test",
            budget = budget,
            report = name + ".report",
            tags = tags + ["spike"],
            **kwargs
        )
