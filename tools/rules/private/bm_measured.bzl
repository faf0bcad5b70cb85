"""bm_measured: an image's report with instructions counted on Spike, and its budget."""

load("//tools/rules/private:bm_budget_test.bzl", "bm_budget_test")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_report.bzl", "bm_report")
load("//tools/rules/private:bm_run.bzl", "bm_run")

def bm_measured(
        *,
        name,
        models,
        isa,
        board,
        env,
        hooks = "//runtime_bm/app:hooks_default",
        budget = None,
        tags = [],
        **kwargs):
    """Makes `<name>.report`, the image `<name>.profile` that it measures, and the budget's test.

    Args:
      name: the image whose sizes are reported.
      models: its models.
      isa: ISA of its kernels.
      board: label of a Spike board.
      env: label of that board's environment, where instructions are counted.
      hooks: cc_library with the models' own console output.
      budget: budget.json; without it there is no budget test.
      tags: tags of every test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    bm_firmware(
        name = name + ".profile",
        board = board,
        hooks = hooks,
        isa = isa,
        models = models,
        profile = True,
        run_env = env,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_run(
        name = name + "._profile_run",
        exec_env = env,
        firmware = name + ".profile",
        tags = tags + ["manual"],
        **kwargs
    )
    bm_report(
        name = name + ".report",
        firmware = name,
        run = name + "._profile_run",
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
