"""several_harts: the models of a suite on several harts."""

load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_firmware_test.bzl", "recorded_run")
load("//tools/rules/private:bm_measured.bzl", "bm_measured")
load("//tools/rules/private:bm_run_test.bzl", "bm_run_test")
load("//tools/rules/private:bm_workgroups_test.bzl", "bm_workgroups_test")
load("//tools/rules/private:transitions.bzl", "env_name")

_QEMU = Label("//boards/qemu_virt_rv64")
_SPIKE = Label("//boards/spike_rv64")

# For which every suite has images.
_HARTS = [2, 4]

def several_harts(*, name, models, isa, vlen, hooks, tested, alone, tags, **kwargs):
    """Makes `<name>.harts<N>` for 2 and 4 harts: an image for Spike, its `.report` and its `.view`.

    `<name>_harts_test` compares them, in QEMU and on Spike, with the run of one hart: all must compute the same bits.
    `<name>_workgroups_test` runs each workgroup alone (runtime_bm/app/workgroup_check.h).

    Args:
      name: of the suite.
      models: its bm_models.
      isa: of its kernels.
      vlen: of the harts, in bits.
      hooks: cc_library with the models' own console output.
      tested: list of the numbers of harts that the tests are for; none without it.
      alone: recorded run of one hart.
      tags: tags of every test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    on_spike = _SPIKE.same_package_label(env_name(vlen, isa))
    in_qemu = _SPIKE.same_package_label("qemu_" + env_name(vlen, isa))
    manual = dict(kwargs, tags = tags + ["manual"])
    runs = [alone]
    for count in {count: None for count in _HARTS + tested}:
        image = "{}.harts{}".format(name, count)
        bm_firmware(
            name = image,
            board = _SPIKE,
            harts = count,
            hooks = hooks,
            isa = isa,
            models = models,
            profile = True,
            run_env = on_spike,
            **manual
        )

        # QEMU counts the instructions of all harts together.
        run = recorded_run(name = image, exec_env = on_spike, firmware = image, tags = tags, **kwargs)
        bm_measured(
            name = image,
            board = _SPIKE,
            exec_env = on_spike,
            harts = count,
            isa = isa,
            models = models,
            run = run,
            **manual
        )
        if count in tested:
            runs += [run, recorded_run(name = image, exec_env = in_qemu, firmware = image, tags = tags, **kwargs)]
    if not tested:
        return
    bm_run_test(
        name = name + "_harts_test",
        agree = True,
        runs = runs,
        tags = tags + ["qemu", "spike"],
        **kwargs
    )
    bm_workgroups_test(
        name = name + "_workgroups",
        exec_env = _QEMU.same_package_label(env_name(vlen, isa)),
        harts = max(tested),
        isa = isa,
        models = models,
        tags = tags,
        **kwargs
    )
