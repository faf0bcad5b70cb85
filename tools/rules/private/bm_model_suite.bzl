"""bm_model_suite: everything Ironcast builds and checks for a model, or several in one image."""

load("//boards:flashable.bzl", "EMULATED", "FLASHABLE")
load("//tools/rules/private:bm_debug.bzl", "bm_debug")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_firmware_test.bzl", "bm_firmware_test")
load("//tools/rules/private:bm_flash.bzl", "bm_flash", "bm_flash_test")
load("//tools/rules/private:bm_measured.bzl", "bm_measured")
load("//tools/rules/private:bm_runs_test.bzl", "bm_runs_test")
load("//tools/rules/private:c_names.bzl", "c_name_of")

def _env(board, vlen):
    return "//boards/{}:vlen{}".format(board, vlen)

def bm_model_suite(
        *,
        name,
        models,
        vlens,
        isa = "rv64gcv_zvl256b",
        budget = None,
        hooks = "//runtime_bm/app:hooks_default",
        tags = [],
        **kwargs):
    """Firmware for QEMU and Spike, and the tests that check it.

    Makes `<name>` (QEMU virt), `<name>.spike` (which prints the instructions of every dispatch),
    `<name>.host` (the same as an x86-64 program), `<name>.report`, `<name>.spike.debug` (under gdb), and
    tests: runs in every environment that agree bit for bit, one run on the host, a negative control for
    each model, the budget.
    `--board=NAME` chooses the board of `<name>.flash`, `<name>.flash_test`, `<name>.debug` (under gdb)
    and `<name>.bisect` (the first dispatch that differs from the host's).

    Args:
      name: name of the QEMU firmware.
      models: list of bm_model, usually one.
      vlens: VLENs in bits to run at, none smaller than that of `isa`. `bazel run` boots at the first
        one, and instructions are counted there.
      isa: ISA of the kernels.
      budget: budget.json; without it there is no budget test.
      hooks: cc_library with the models' own console output.
      tags: tags of every test.
      **kwargs: attributes of every target, e.g. visibility.
    """
    measured_at = _env("spike_rv64", vlens[0])
    for board, firmware in {"qemu_virt_rv64": name, "spike_rv64": name + ".spike"}.items():
        bm_firmware(
            name = firmware,
            board = "//boards/" + board,
            hooks = hooks,
            isa = isa,
            models = models,
            profile = board == "spike_rv64",
            run_env = _env(board, vlens[0]),
            tags = tags,
            **kwargs
        )
    runs = bm_runs_test(
        name = name + "_agreement",
        agree = True,
        firmwares = {
            name: [_env("qemu_virt_rv64", vlen) for vlen in vlens],
            # The same ELF in a second emulator: a difference is a bug in one of them, or ours.
            name + ".spike": [_env("spike_rv64", vlen) for vlen in vlens] +
                             ["//boards/spike_rv64:qemu_vlen{}".format(vlens[0])],
        },
        tags = tags,
        **kwargs
    )
    bm_measured(
        name = name,
        budget = budget,
        run = runs[measured_at],
        tags = tags,
        **kwargs
    )
    bm_firmware(
        name = name + ".host",
        board = "//boards/host_x86_64",
        hooks = hooks,
        isa = "x86_64",
        models = models,
        run_env = "//boards/host_x86_64:native",
        tags = tags + ["manual"],
        **kwargs
    )
    bm_firmware_test(
        name = name,
        exec_envs = {"//boards/host_x86_64:native": ["host"]},
        firmware = name + ".host",
        tags = tags,
        **kwargs
    )
    for i, model in enumerate(models):
        # The report must name the model at fault and no other.
        label = native.package_relative_label(model)
        c_name = c_name_of(label.name)
        suffix = "_" + c_name if len(models) > 1 else ""
        bm_firmware(
            name = name + "._mutated" + suffix,
            board = "//boards/qemu_virt_rv64",
            hooks = hooks,
            isa = isa,
            models = models[:i] + [str(label) + ".mutated"] + models[i + 1:],
            run_env = _env("qemu_virt_rv64", vlens[0]),
            tags = tags + ["manual"],
            **kwargs
        )
        bm_firmware_test(
            name = name + "_negative" + suffix,
            exec_envs = {_env("qemu_virt_rv64", vlens[0]): ["qemu"]},
            expect = "FAIL",
            firmware = name + "._mutated" + suffix,
            tags = tags,
            text = "models=" + c_name,
            **kwargs
        )
    bm_debug(
        name = name + ".spike.debug",
        exec_env = measured_at,
        firmware = name + ".spike",
        tags = tags + ["manual"],
        **kwargs
    )
    for board, board_isa in FLASHABLE.items():
        bm_firmware(
            name = "{}._on_{}".format(name, board),
            board = "//boards/" + board,
            hooks = hooks,
            isa = board_isa,
            models = models,
            tags = tags + ["manual"],
            **kwargs
        )
    chosen = select({
        "//boards:board_is_" + board: "{}._on_{}".format(name, board)
        for board in FLASHABLE
    } | {"//conditions:default": name})
    chosen_env = select({
        "//boards:board_is_" + board: EMULATED.get(board)
        for board in FLASHABLE
    } | {"//conditions:default": _env("qemu_virt_rv64", vlens[0])})
    for part, reference in {".bisect": name + ".host", ".debug": None}.items():
        bm_debug(
            name = name + part,
            exec_env = chosen_env,
            firmware = chosen,
            reference = reference,
            tags = tags + ["manual"],
            **kwargs
        )
    bm_flash(
        name = name + ".flash",
        firmware = chosen,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_flash_test(
        name = name + ".flash_test",
        firmware = chosen,
        tags = tags + ["exclusive", "external", "local", "manual"],
        **kwargs
    )
