"""bm_run: boots firmware once and records the run, for tests and reports to judge."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo", "BmRunInfo")

def check_env(label, firmware, env, allow_smaller_vlen = False):
    """Fails if `firmware` cannot run in `env`, with a sentence that says why.

    Args:
      label: the target to name.
      firmware: BmFirmwareInfo.
      env: BmExecEnvInfo.
      allow_smaller_vlen: let kernels boot on a hart whose VLEN is too small for them, or that lacks an extension.
    """
    if firmware.board.name != env.board:
        fail("{}: the firmware is built for board {}, the environment runs board {}".format(
            label,
            firmware.board.name,
            env.board,
        ))
    if firmware.vlen > env.vlen and not allow_smaller_vlen:
        fail(("{}: the kernels need VLEN {}, the environment has {}: build the firmware with a " +
              "smaller isa or run it in another environment").format(
            label,
            firmware.vlen,
            env.vlen,
        ))
    absent = [device for device in firmware.devices if device not in env.devices]
    if absent:
        fail(("{}: the kernel libraries need {}, which the environment does not have: run the firmware in another " +
              "environment").format(label, ", ".join(absent)))
    about = ISAS.get(firmware.isa, {})
    wanted = about.get("optional", []) + about.get("unnamed", [])
    missing = [extension for extension in wanted if extension not in env.extensions]
    if missing and not allow_smaller_vlen:
        fail(("{}: the kernels need {}, which the hart of the environment does not have: build the firmware with " +
              "another isa or run it in another environment").format(label, ", ".join(missing)))

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
    images = [firmware.elf] + ([firmware.flash] if firmware.flash else [])
    args.add_all(env.command(env, firmware.elf.path, firmware.flash.path if firmware.flash else ""))
    ctx.actions.run(
        mnemonic = "BmRun",
        progress_message = "Booting " + (env.pace + ": " if env.pace else "") + "%{label}",
        executable = ctx.executable._runner,
        arguments = [args],
        inputs = images + ([env.bios] if env.bios else []) + [plugin.library for plugin in env.plugins],
        tools = ([env.emulator] if env.emulator else []) + env.path_tools,
        outputs = [record],
    )
    return [
        DefaultInfo(files = depset([record])),
        BmRunInfo(
            clocks = [plugin.clock for plugin in env.plugins if plugin.clock],
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
            doc = "Boot on a hart whose VLEN is too small, or that lacks an extension, to test that it is refused.",
        ),
        "exec_env": attr.label(mandatory = True, providers = [BmExecEnvInfo]),
        "firmware": attr.label(mandatory = True, providers = [BmFirmwareInfo]),
        "_runner": attr.label(
            default = "//tools/emulate:runner",
            executable = True,
            cfg = "exec",
        ),
    },
    provides = [BmRunInfo],
)
