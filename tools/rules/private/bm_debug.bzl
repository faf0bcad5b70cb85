"""bm_debug: a firmware under gdb, by hand or compared with the same model elsewhere."""

load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo")
load("//tools/rules/private:bm_run.bzl", "check_env")
load("//tools/rules/private:launcher.bzl", "write_launcher")

def _program(label, firmware, env):
    """Returns what tools/debug/session.py calls a Program."""
    check_env(label, firmware, env)
    if env.emulator and not env.debug_args:
        fail("{}: the environment of {} cannot wait for gdb: it sets no debug_args".format(
            label,
            env.board,
        ))
    flash = firmware.flash.short_path if firmware.flash else ""
    run = [
        getattr(word, "short_path", word)
        for word in env.command(env, firmware.elf.short_path, flash)
    ]
    return {
        "board": env.board,
        "deadline": env.deadline_seconds,
        "elf": firmware.elf.short_path,
        "reports": [report.short_path for report in firmware.model_reports],
        "path_tools": [tool.executable.short_path for tool in env.path_tools],
        "run": run,
        "server": [env.debug_server.executable.short_path, env.debug_config.short_path] if env.debug_server else [],
        "wait": run[:1] + env.debug_args + run[1:] if env.emulator else [],
    }

def _bm_debug_impl(ctx):
    firmwares = [ctx.attr.firmware[BmFirmwareInfo]]
    envs = [ctx.attr.exec_env[BmExecEnvInfo]]
    if ctx.attr.reference:
        firmwares.append(ctx.attr.reference[BmFirmwareInfo])
        envs.append(ctx.attr.reference_env[BmExecEnvInfo])
    programs = [_program(ctx.label, firmwares[i], envs[i]) for i in range(len(envs))]
    session = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(session, json.encode_indent({
        "gdb": ctx.executable._gdb.short_path,
        "program": programs[0],
        "reference": programs[1] if ctx.attr.reference else None,
    }))
    files = [session]
    runfiles = ctx.attr._gdb[DefaultInfo].default_runfiles
    for firmware, env in zip(firmwares, envs):
        files += [firmware.elf] + firmware.model_reports + ([firmware.flash] if firmware.flash else [])
        runfiles = runfiles.merge(env.runfiles)
    return [DefaultInfo(
        files = depset([session]),
        **write_launcher(ctx, ctx.attr._debug, ["--session", session], files, runfiles)
    )]

bm_debug = rule(
    implementation = _bm_debug_impl,
    doc = """`bazel run` starts a firmware in an emulator and gdb beside it, stopped at the first dispatch.

    With a `reference`, finds the first dispatch whose outputs differ between the two instead.""",
    attrs = {
        "exec_env": attr.label(
            doc = "Where the firmware runs.",
            mandatory = True,
            providers = [BmExecEnvInfo],
        ),
        "firmware": attr.label(mandatory = True, providers = [BmFirmwareInfo]),
        "reference": attr.label(
            doc = "The same models built for something else, usually for this machine.",
            providers = [BmFirmwareInfo],
        ),
        "reference_env": attr.label(
            doc = "Where the reference runs.",
            default = "//boards/host_x86_64:native",
            providers = [BmExecEnvInfo],
        ),
        "_debug": attr.label(default = "//tools/debug", executable = True, cfg = "target"),
        "_gdb": attr.label(default = "//third_party/gdb", executable = True, cfg = "exec"),
    },
    executable = True,
)
