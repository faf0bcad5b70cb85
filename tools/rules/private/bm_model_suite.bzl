"""bm_model_suite: everything Ironcast builds and checks for a model, or several in one image."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules/private:bm_bench.bzl", "benches")
load("//tools/rules/private:bm_debug.bzl", "bm_debug")
load("//tools/rules/private:bm_export.bzl", "bm_export")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_firmware_test.bzl", "bm_firmware_test")
load("//tools/rules/private:bm_flash.bzl", "bm_flash", "bm_flash_test")
load("//tools/rules/private:bm_harts.bzl", "several_harts")
load("//tools/rules/private:bm_library.bzl", "bm_library")
load("//tools/rules/private:bm_measured.bzl", "bm_measured")
load("//tools/rules/private:bm_runs_test.bzl", "bm_runs_test")
load("//tools/rules/private:bm_sbom.bzl", "bm_sbom")
load("//tools/rules/private:bm_trials.bzl", "trials")
load("//tools/rules/private:bm_validate.bzl", "validate")
load("//tools/rules/private:c_names.bzl", "c_name_of")
load("//tools/rules/private:chosen_board.bzl", "by_chosen_board")
load("//tools/rules/private:transitions.bzl", "CHOSEN_BOARD", "NO_BOARD", "env_name")

_HOST = Label("//boards/host_x86_64")
_NATIVE = Label("//boards/host_x86_64:native")
_QEMU = Label("//boards/qemu_virt_rv64")
_SPIKE = Label("//boards/spike_rv64")

def _env(board, vlen, isa):
    return board.same_package_label(env_name(vlen, isa))

def _for_isa(name):
    """Returns a function that names a suite's firmware for the chosen board, from the board's ISA."""
    return lambda isa: "{}._for_{}".format(name, isa)

def bm_model_suite(
        *,
        name,
        models,
        vlens,
        isa = "rv64gcv_zvl256b",
        baseline = None,
        harts = 1,
        test_harts = [],
        hooks = Label("//runtime_bm/app:hooks_default"),
        negative_on_target = False,
        tags = [],
        tags_on_spike = [],
        **kwargs):
    """Firmware for QEMU and Spike, and the tests that check it.

    Makes `<name>` (QEMU virt), `<name>.spike` (which prints the instructions of every dispatch),
    `<name>.host` (the same as an x86-64 program), `<name>.report`, `<name>.view` (a page that
    shows it), `<name>.sbom` (what is in it, `docs/how-to/sbom.md`), `<name>.spike.debug` (under gdb), and
    tests: runs in every environment that agree bit for bit, one run on the host, a negative control for
    each model, the baseline.
    `<name>.harts<N>` is an image for 2 or 4 harts, `<name>.harts<N>.report` and `.view` show what each of them does.
    `<name>.bench<VLEN>` has what `tools/bazel run //tools/report/bench` shows, and `<name>.cores` what it shows with `--cores`.
    `<name>.tune` searches for faster kernels (`docs/how-to/tune-a-model.md`), and `<name>.memory` shows how much RAM the
    models need at least, and what each step down costs (`docs/how-to/fit-into-ram.md`).
    `<name>.validate` compares the model with its framework on your own data, in QEMU or on a board;
    `<name>.spike.validate` and `<name>.host.validate` do so elsewhere, `<name>.probe.validate` on a board with a
    debug probe (`docs/how-to/validate.md`).
    `<name>.library` is the models and the runtime as a C library, and `<name>.export` writes it into a
    folder that builds without Bazel.
    `--board=LABEL` chooses the board in whose emulator `bazel run <name>` boots, whose memories `<name>.report` prints, and the board of `<name>.flash`, `<name>.flash_test`, `<name>.validate`, `<name>.probe.validate`,
    `<name>.service.flash`, which puts the firmware for `.validate` on it, `<name>.debug` (under gdb) and `<name>.bisect` (the first dispatch that differs from the host's).

    Args:
      name: name of the QEMU firmware.
      models: list of bm_model, usually one.
      vlens: VLENs in bits to run at, at least one, none smaller than that of `isa`. `bazel run` boots at the first
        one, and instructions are counted there. A suite is for harts with vectors; bm_firmware is for others too.
      isa: ISA of the kernels.
      baseline: text with a line for `<name>`; without it there is no test of what the image takes.
      harts: harts that run the models together on QEMU's and Spike's boards and on the one that `--board` names
        (docs/how-to/several-harts.md). Other images are for one.
      test_harts: more numbers of harts for which there are tests: all must compute the same bits.
      hooks: cc_library with the models' own console output.
      negative_on_target: whether the negative control of each model boots in QEMU. By default it runs on the host,
        which shows as well whether the model's tolerance would hide a changed weight.
      tags: tags of every test.
      tags_on_spike: more tags of the test that Spike computes the same bits, which is then one of its own; for a model
        that takes minutes there.
      **kwargs: attributes of every target, e.g. visibility.
    """
    if not vlens:
        fail("vlens of bm_model_suite {} is empty: give at least one VLEN, or use bm_firmware for harts without vectors".format(name))
    on_spike = _env(_SPIKE, vlens[0], isa)

    # Counts the same instructions as Spike (//tools/report:counts_test), up to ten times faster, but not for each hart.
    measured_at = _SPIKE.same_package_label("qemu_" + env_name(vlens[0], isa)) if harts == 1 else on_spike
    for board, firmware in {_QEMU: name, _SPIKE: name + ".spike"}.items():
        bm_firmware(
            name = firmware,
            board = board,
            harts = harts,
            hooks = hooks,
            isa = isa,
            models = models,
            profile = board == _SPIKE,
            run_as = name + "._for_chosen_board" if board == _QEMU else None,
            run_env = _env(board, vlens[0], isa),
            tags = tags,
            **kwargs
        )
    in_qemu = {
        name: [_env(_QEMU, vlen, isa) for vlen in vlens],
        name + ".spike": [_SPIKE.same_package_label("qemu_" + env_name(vlens[0], isa))],
    }

    # The same ELF in a second emulator: a difference is a bug in one of them, or ours.
    with_spike = {name + ".spike": [_env(_SPIKE, vlen, isa) for vlen in vlens] + in_qemu[name + ".spike"]}
    runs = {}
    for suffix, firmwares, more_tags in ([
        ("_agreement", in_qemu, []),
        ("_agreement_on_spike", with_spike, tags_on_spike),
    ] if tags_on_spike else [("_agreement", in_qemu | with_spike, [])]):
        runs = bm_runs_test(
            name = name + suffix,
            agree = True,
            firmwares = firmwares,
            tags = tags + more_tags,
            **kwargs
        ) | runs
    bm_measured(
        name = name,
        baseline = baseline,
        board = _SPIKE,
        chosen = name + "._for_chosen_board",
        exec_env = measured_at,
        harts = harts,
        isa = isa,
        models = models,
        run = runs[measured_at],
        tags = tags,
        **kwargs
    )
    several_harts(
        name = name,
        alone = runs[on_spike],
        hooks = hooks,
        isa = isa,
        models = models,
        tags = tags,
        tested = test_harts,
        vlen = vlens[0],
        **kwargs
    )
    bm_sbom(
        name = name + ".sbom",
        firmware = name,
        models = models,
        tags = tags + ["manual"],
        **kwargs
    )
    benches(
        name = name,
        hooks = hooks,
        isa = isa,
        models = models,
        tags = tags,
        **kwargs
    )
    trials(
        name = name,
        isa = isa,
        models = models,
        tags = tags,
        vlen = vlens[0],
        **kwargs
    )
    validate(
        name = name,
        isa = isa,
        models = models,
        tags = tags,
        vlen = vlens[0],
        **kwargs
    )
    bm_firmware(
        name = name + ".host",
        board = _HOST,
        hooks = hooks,
        isa = "x86_64",
        models = models,
        run_env = _NATIVE,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_firmware_test(
        name = name,
        exec_envs = {_NATIVE: ["host"]},
        firmware = name + ".host",
        tags = tags,
        **kwargs
    )
    for i, model in enumerate(models):
        # The report must name the model at fault and no other.
        label = native.package_relative_label(model)
        c_name = c_name_of(label.name)
        suffix = "_" + c_name if len(models) > 1 else ""
        negative_env = _env(_QEMU, vlens[0], isa) if negative_on_target else _NATIVE
        bm_firmware(
            name = name + "._mutated" + suffix,
            board = _QEMU if negative_on_target else _HOST,
            harts = harts if negative_on_target else 1,
            hooks = hooks,
            isa = isa if negative_on_target else "x86_64",
            models = models[:i] + [str(label) + ".mutated"] + models[i + 1:],
            run_env = negative_env,
            tags = tags + ["manual"],
            **kwargs
        )
        bm_firmware_test(
            name = name + "_negative" + suffix,
            exec_envs = {negative_env: ["qemu" if negative_on_target else "host"]},
            expect = "FAIL",
            firmware = name + "._mutated" + suffix,
            tags = tags,
            text = "models=" + c_name,
            **kwargs
        )
    bm_debug(
        name = name + ".spike.debug",
        exec_env = on_spike,
        firmware = name + ".spike",
        tags = tags + ["manual"],
        **kwargs
    )
    bm_library(
        name = name + ".library",
        isa = isa,
        models = models,
        tags = tags + ["manual"],
        **kwargs
    )
    bm_export(
        name = name + ".export",
        library = name + ".library",
        tags = tags + ["manual"],
        **kwargs
    )

    # Of the chosen board's ISA only the one image is built.
    for board_isa in ISAS:
        bm_firmware(
            name = _for_isa(name)(board_isa),
            board = CHOSEN_BOARD,
            harts = harts,
            hooks = hooks,
            isa = board_isa,
            models = models,
            tags = tags + ["manual"],
            **kwargs
        )
    native.alias(
        name = name + "._for_chosen_board",
        actual = by_chosen_board(_for_isa(name), NO_BOARD),
        tags = tags + ["manual"],
    )
    chosen = by_chosen_board(_for_isa(name), name)
    chosen_env = by_chosen_board(lambda _: None, _env(_QEMU, vlens[0], isa))
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
