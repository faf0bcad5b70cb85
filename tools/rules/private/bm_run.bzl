"""bm_run: boots firmware once and records the run, for tests and reports to judge."""

load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo", "BmRunInfo")
load("//tools/rules/private:program.bzl", "check_env", "image_files")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

def _bm_run_impl(ctx):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    env = ctx.attr.exec_env[BmExecEnvInfo]
    check_env(ctx.label, firmware, env, ctx.attr.allow_smaller_vlen)
    record = ctx.actions.declare_file(ctx.label.name + ".json")
    args = ctx.actions.args()
    args.add("--deadline", env.deadline_seconds)
    args.add("--out", record)
    args.add_all([tool.executable for tool in env.path_tools], before_each = "--tool-path")
    args.add("--")
    args.add_all(env.command(env, firmware.elf.path, firmware.flash.path if firmware.flash else "", firmware.harts))
    run_tool(
        ctx,
        mnemonic = "BmRun",
        progress_message = "Booting " + (env.pace + ": " if env.pace else "") + "%{label}",
        tool = ctx.executable._runner,
        arguments = args,
        inputs = image_files(firmware) + ([env.bios] if env.bios else []) + [plugin.library for plugin in env.plugins],
        tools = ([env.emulator] if env.emulator else []) + env.path_tools,
        outputs = [record],
    )
    return [
        DefaultInfo(files = depset([record])),
        BmRunInfo(
            clocks = [plugin.clock for plugin in env.plugins if plugin.clock],
            cycles_of = env.cycles_of,
            expect = firmware.expect,
            model_reports = firmware.model_reports,
            record = record,
        ),
    ]

bm_run = rule(
    implementation = _bm_run_impl,
    doc = "Boots firmware once and records its console and exit status.",
    attrs = {
        "allow_smaller_vlen": attr.bool(
            doc = "Boot on a hart whose VLEN is too small, or that lacks an extension, or on too few, to test that it is refused.",
        ),
        "exec_env": attr.label(mandatory = True, providers = [BmExecEnvInfo]),
        "firmware": attr.label(mandatory = True, providers = [BmFirmwareInfo]),
        "_runner": attr.label(
            default = "//tools/run:runner",
            executable = True,
            cfg = tool_transition,
        ),
    },
    provides = [BmRunInfo],
)
