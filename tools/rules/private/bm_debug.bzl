"""bm_debug: firmware under gdb, by hand or compared with the same model elsewhere."""

load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:own_reports.bzl", "own_reports")
load("//tools/rules/private:program.bzl", "program_files", "program_of")

# On a board a person is waiting, not a test.
_BOARD_DEADLINE_SECONDS = 3600

def _bm_debug_impl(ctx):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    sides = [(
        firmware,
        ctx.attr.exec_env[BmExecEnvInfo] if ctx.attr.exec_env else firmware.board.exec_env,
    )]
    if ctx.attr.reference:
        sides.append((ctx.attr.reference[BmFirmwareInfo], ctx.attr.reference_env[BmExecEnvInfo]))
    reports = [
        own_reports(ctx, firmware, side)
        for (firmware, _), side in zip(sides, ["target", "reference"])
    ]
    programs = [
        program_of(ctx, firmware, env, own, _BOARD_DEADLINE_SECONDS)
        for (firmware, env), own in zip(sides, reports)
    ]
    session = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(session, json.encode_indent({
        "gdb": ctx.executable._gdb.short_path,
        "program": programs[0],
        "reference": programs[1] if ctx.attr.reference else None,
    }))
    files = [session]
    runfiles = ctx.attr._gdb[DefaultInfo].default_runfiles
    runfiles = runfiles.merge(ctx.attr._openocd[DefaultInfo].default_runfiles)
    for (firmware, env), own in zip(sides, reports):
        files += program_files(firmware) + own
        if env:
            runfiles = runfiles.merge(env.runfiles)
    return [DefaultInfo(
        files = depset([session]),
        **write_launcher(ctx, ctx.attr._debug, ["--session", session], files, runfiles)
    )]

bm_debug = rule(
    implementation = _bm_debug_impl,
    doc = """`bazel run` starts firmware under gdb, stopped at the first dispatch.

    With a `reference`, finds the first dispatch whose outputs differ between the two instead.""",
    attrs = {
        "exec_env": attr.label(
            doc = """Where the firmware runs. Default: the board's `exec_env`; without one, on the board
            itself, where OpenOCD loads it through the probe that `flash.methods.openocd` in board.json
            describes.""",
            providers = [BmExecEnvInfo],
        ),
        "firmware": attr.label(mandatory = True, providers = [BmFirmwareInfo]),
        "reference": attr.label(
            doc = "The same models built for another target, usually this machine.",
            providers = [BmFirmwareInfo],
        ),
        "reference_env": attr.label(
            doc = "Where the reference runs.",
            default = "//boards/host_x86_64:native",
            providers = [BmExecEnvInfo],
        ),
        "_debug": attr.label(default = "//tools/run/debug", executable = True, cfg = "target"),
        "_gdb": attr.label(default = "//third_party/tools:gdb_multiarch", executable = True, cfg = "exec"),
        "_openocd": attr.label(default = "//third_party/tools:openocd", executable = True, cfg = "exec"),
    },
    executable = True,
)
