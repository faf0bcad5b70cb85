"""bm_validate: `bazel run` compares a model on its target with its framework, on the user's own data."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo", "BmImportInfo", "BmServiceInfo")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_flash.bzl", "bm_flash")
load("//tools/rules/private:c_names.bzl", "c_name_of")
load("//tools/rules/private:chosen_board.bzl", "by_chosen_board")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:own_reports.bzl", "own_reports")
load("//tools/rules/private:program.bzl", "command_of", "image_files", "program_files", "program_of")
load("//tools/rules/private:transitions.bzl", "CHOSEN_BOARD", "env_name", "import_transition")

_HOST = Label("//boards/host_x86_64")
_PROBE_MAIN = Label("//runtime_bm/app:service_probe_main")
_QEMU = Label("//boards/qemu_virt_rv64")
_SERVICE_MAIN = Label("//runtime_bm/app:service_main")
_SPIKE = Label("//boards/spike_rv64")

# On a board: how long one request may take.
_BOARD_DEADLINE_SECONDS = 600

def _model(target, report):
    """Returns what tools/service/validate reads about a model, as the target has it."""
    info = target[BmImportInfo]
    return {
        "c_name": c_name_of(target.label.name),
        "imported": info.directory.short_path,
        "importer": [info.importer.executable.short_path] + info.arguments,
        "name": target.label.name,
        "report": report.short_path,
    }

def _reference(ctx, reports):
    """Returns how to run the reference, with its models' reports."""
    firmware = ctx.attr.reference[BmFirmwareInfo]
    return {
        "reports": [report.short_path for report in reports],
        "run": command_of(ctx.label, firmware, ctx.attr._reference_env[BmExecEnvInfo]),
    }

def _bm_validate_impl(ctx):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    env = ctx.attr.exec_env[BmExecEnvInfo] if ctx.attr.exec_env else firmware.board.exec_env
    if ctx.attr.probe:
        env = None
    reports = own_reports(ctx, firmware, "target")
    others = own_reports(ctx, ctx.attr.reference[BmFirmwareInfo], "reference") if ctx.attr.reference else []
    session = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(session, json.encode_indent({
        "board": firmware.board.name,
        "deadline": env.deadline_seconds if env else _BOARD_DEADLINE_SECONDS,
        "models": [
            _model(target, report)
            for target, report in zip(ctx.attr.models, reports)
        ],
        "path_tools": [tool.executable.short_path for tool in env.path_tools] if env else [],
        "probe": program_of(ctx, firmware, None, [], _BOARD_DEADLINE_SECONDS) if ctx.attr.probe else None,
        "reference": _reference(ctx, others) if ctx.attr.reference else None,
        "run": command_of(ctx.label, firmware, env) if env else [],
    }))
    started = ctx.runfiles([session] + image_files(firmware))
    if env:
        started = started.merge(env.runfiles)
    files = reports + others
    runfiles = [started]
    if ctx.attr.probe:
        files += program_files(firmware)
        runfiles.append(ctx.attr._openocd[DefaultInfo].default_runfiles)
    if ctx.attr.reference:
        files += image_files(ctx.attr.reference[BmFirmwareInfo])
        runfiles.append(ctx.attr._reference_env[BmExecEnvInfo].runfiles)
    for target in ctx.attr.models:
        info = target[BmImportInfo]
        files += [info.directory] + info.sources.to_list()
        runfiles.append(info.importer_runfiles)
    launcher = write_launcher(
        ctx,
        ctx.attr._validate,
        ["--session", session],
        files,
        ctx.runfiles().merge_all(runfiles),
    )
    return [
        DefaultInfo(files = depset([session]), **launcher),
        BmServiceInfo(session = session, runfiles = started),
    ]

bm_validate = rule(
    implementation = _bm_validate_impl,
    doc = "`bazel run` runs a model's service firmware on your data and compares it with the framework.",
    attrs = {
        "exec_env": attr.label(
            doc = "Where the firmware runs. Default: the board's `exec_env`; without one, on the board itself.",
            providers = [BmExecEnvInfo],
        ),
        "firmware": attr.label(
            doc = "Firmware whose main is //runtime_bm/app:service_main, or service_probe_main.",
            mandatory = True,
            providers = [BmFirmwareInfo],
        ),
        "models": attr.label_list(
            doc = "The firmware's models, as they were imported, in its order.",
            allow_empty = False,
            cfg = import_transition,
            mandatory = True,
            providers = [BmImportInfo],
        ),
        "probe": attr.bool(
            doc = """Whether the firmware's main is //runtime_bm/app:service_probe_main: the board's OpenOCD loads
            it and writes inputs into its memory.""",
        ),
        "reference": attr.label(
            doc = "The same firmware for this machine, whose layers `--per-layer` compares with the target's.",
            providers = [BmFirmwareInfo],
        ),
        "_openocd": attr.label(default = "//third_party/tools:openocd", executable = True, cfg = "exec"),
        "_reference_env": attr.label(
            default = "//boards/host_x86_64:native",
            providers = [BmExecEnvInfo],
        ),
        "_validate": attr.label(default = "//tools/service/validate", executable = True, cfg = "target"),
    },
    executable = True,
    provides = [BmServiceInfo],
)

def validate(*, name, isa, models, tags, vlen, **kwargs):
    """Makes `<name>.validate`, `<name>.spike.validate` and `<name>.host.validate`, and `<name>.service.flash`.

    `--board=LABEL` chooses the board of the first and the last, and of `<name>.probe.validate`, which reaches it with a
    debugger.

    Args:
      name: prefix of the targets.
      isa: ISA of the kernels.
      models: list of bm_model.
      tags: tags of every target.
      vlen: VLEN in bits that the emulators have.
      **kwargs: attributes of every target.
    """
    tags = tags + ["manual"]
    service = name + ".service"
    env = env_name(vlen, isa)
    fixed = {
        "": (_QEMU, isa, _QEMU.same_package_label(env)),
        ".host": (_HOST, "x86_64", _HOST.same_package_label("native")),
        ".spike": (_SPIKE, isa, _SPIKE.same_package_label(env)),
    }
    images = {
        service + where: (board, board_isa)
        for where, (board, board_isa, _) in fixed.items()
    } | {
        "{}._for_{}".format(service, board_isa): (CHOSEN_BOARD, board_isa)
        for board_isa in ISAS
    }
    probed = name + ".probe"
    probed_images = {
        "{}._for_{}".format(probed, board_isa): (CHOSEN_BOARD, board_isa)
        for board_isa in ISAS
    } | {probed: (_QEMU, isa)}
    for image, (board, board_isa) in (images | probed_images).items():
        bm_firmware(
            name = image,
            board = board,
            expect = "EXIT",
            isa = board_isa,
            main = _PROBE_MAIN if image in probed_images else _SERVICE_MAIN,
            models = models,
            tags = tags,
            **kwargs
        )
    chosen = by_chosen_board(lambda board_isa: "{}._for_{}".format(service, board_isa), service)
    for where, (_, _, exec_env) in fixed.items():
        bm_validate(
            name = name + where + ".validate",
            exec_env = exec_env if where else by_chosen_board(lambda _: None, exec_env),
            firmware = service + where if where else chosen,
            models = models,
            reference = None if where == ".host" else service + ".host",
            tags = tags,
            **kwargs
        )
    bm_validate(
        name = probed + ".validate",
        firmware = by_chosen_board(lambda board_isa: "{}._for_{}".format(probed, board_isa), probed),
        models = models,
        probe = True,
        reference = service + ".host",
        tags = tags,
        **kwargs
    )
    bm_flash(
        name = service + ".flash",
        firmware = chosen,
        tags = tags,
        **kwargs
    )
