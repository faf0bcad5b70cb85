"""bm_workgroups_test: runs each workgroup of each dispatch alone."""

load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_firmware_test.bzl", "bm_firmware_test")

def bm_workgroups_test(*, name, models, harts, exec_env, isa, tags = [], **kwargs):
    """Makes `<name>_<env>_test`: no two workgroups write the same byte, and none needs what another one writes.

    Checks the first entry point of each model on its first case (runtime_bm/app/workgroup_check.h). It fails if no
    dispatch has several workgroups.

    Args:
      name: prefix of the test.
      models: bm_models, all in one image.
      harts: how many the kernels are cut for.
      exec_env: bm_exec_env, in a package with the name of its board.
      isa: ISA of the kernels.
      tags: tags of the test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    env = native.package_relative_label(exec_env)
    bm_firmware(
        name = name + "._image",
        board = env.same_package_label(env.package.split("/")[-1]),
        harts = harts,
        isa = isa,
        main = Label("//runtime_bm/app:workgroup_main"),
        models = models,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_firmware_test(
        name = name,
        exec_envs = {exec_env: ["qemu"]},
        firmware = name + "._image",
        tags = tags,
        **kwargs
    )
