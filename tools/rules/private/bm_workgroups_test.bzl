"""bm_workgroups_test: runs each workgroup of each dispatch alone."""

load("//tools/rules/private:bm_runs.bzl", "bm_runs")

def bm_workgroups_test(*, name, exec_env, isa, **kwargs):
    """Makes `<name>_test`: no two workgroups write the same byte, and none needs what another one writes.

    Checks the first entry point of each model on its first case (runtime_bm/app/workgroup_check.h). It fails if no
    dispatch has several workgroups.

    Args:
      name: prefix of the test.
      exec_env: bm_exec_env, in a package with the name of its board.
      isa: ISA of the kernels.
      **kwargs: of bm_runs: models, harts that the kernels are cut for, tags, and attributes of every target.
    """
    bm_runs(
        name = name,
        main = Label("//runtime_bm/app:workgroup_main"),
        on = {isa: [exec_env]},
        **kwargs
    )
