"""bm_exec_env: one way to run a board's firmware, as a target.

Generic rules never ask which emulator this is; they append what `command` returns. A new simulator
is a new target, and one that differs by a flag names a `base`.
"""

load("//tools/rules:providers.bzl", "BmEmulatorPluginInfo", "BmExecEnvInfo")

def _command(env, elf, flash, harts):
    there = env.harts or harts
    args = [
        env.bios if arg == "{bios}" else arg.replace("{elf}", elf).replace("{flash}", flash)
        for arg in ([arg.replace("{harts}", str(there)) for arg in env.hart_args] if there > 1 else []) + env.args
    ]
    if env.emulator == None:
        return [elf] + args
    return [env.emulator.executable] + [arg for plugin in env.plugins for arg in plugin.args] + args

def _bm_exec_env_impl(ctx):
    base = ctx.attr.base[BmExecEnvInfo] if ctx.attr.base else None
    emulator = ctx.attr.emulator[DefaultInfo].files_to_run if ctx.attr.emulator else None
    board = ctx.attr.board or (base.board if base else "")
    if not board:
        fail("{}: set `board`, or a `base` that has one".format(ctx.label))
    runfiles = ctx.runfiles()
    for target in ([ctx.attr.emulator] if ctx.attr.emulator else []) + ctx.attr.path_tools:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    bios = ctx.file.bios or (base.bios if base else None)
    if ctx.file.bios:
        runfiles = runfiles.merge(ctx.runfiles(files = [ctx.file.bios]))
    plugins = [plugin[BmEmulatorPluginInfo] for plugin in ctx.attr.plugins]
    runfiles = runfiles.merge(ctx.runfiles(files = [plugin.library for plugin in plugins]))
    if base:
        runfiles = runfiles.merge(base.runfiles)
    return [BmExecEnvInfo(
        board = board,
        bios = bios,
        cycles_of = ctx.attr.cycles_of or (base.cycles_of if base else ""),
        devices = (base.devices if base else []) + ctx.attr.devices,
        extensions = (base.extensions if base else []) + ctx.attr.extensions,
        harts = ctx.attr.harts or (base.harts if base else 0),
        hart_args = (base.hart_args if base else []) + ctx.attr.hart_args,
        vlen = ctx.attr.vlen if ctx.attr.vlen >= 0 else (base.vlen if base else 0),
        emulator = emulator or (base.emulator if base else None),
        args = (base.args if base else []) + ctx.attr.args,
        debug_args = (base.debug_args if base else []) + ctx.attr.debug_args,
        pace = ctx.attr.pace or (base.pace if base else ""),
        plugins = (base.plugins if base else []) + plugins,
        path_tools = (base.path_tools if base else []) +
                     [tool[DefaultInfo].files_to_run for tool in ctx.attr.path_tools],
        runfiles = runfiles,
        deadline_seconds = ctx.attr.deadline_seconds or (base.deadline_seconds if base else 60),
        tags = (base.tags if base else []) + ctx.attr.env_tags,
        command = base.command if base else _command,
    )]

bm_exec_env = rule(
    implementation = _bm_exec_env_impl,
    doc = "One way to run a board's firmware. Omitted fields come from `base`; lists are joined.",
    attrs = {
        "args": attr.string_list(
            doc = """Arguments of the emulator, after those of `base`; `{elf}` stands for the firmware,
            `{flash}` for the contents of the whole flash chip, and `{bios}` as a whole argument for `bios`.""",
        ),
        "bios": attr.label(
            doc = "File that the emulated machine runs before the firmware.",
            allow_single_file = True,
        ),
        "base": attr.label(doc = "Environment to inherit from.", providers = [BmExecEnvInfo]),
        "board": attr.string(doc = "Name of the board whose firmware runs here."),
        "cycles_of": attr.string(
            doc = "The hardware whose cycles are counted here, for reports. Omitted for an emulator, which has no cycles.",
        ),
        "debug_args": attr.string_list(
            doc = """More arguments, placed before the others, that make the emulator wait before the first
            instruction: for gdb at the socket `{socket}`, or for OpenOCD, configured by the board's
            openocd.cfg, at the port `{port}`. Omitted if the emulator cannot wait.""",
        ),
        "deadline_seconds": attr.int(doc = "Seconds in which the emulator computes or waits, after which a run has failed. Default 60."),
        "devices": attr.string_list(doc = "Those of the board's `devices` that are there."),
        "emulator": attr.label(
            doc = "Program that runs the firmware. Without one it runs as an ordinary program.",
            executable = True,
            cfg = "exec",
        ),
        "env_tags": attr.string_list(doc = "Tags for every test that runs here."),
        "hart_args": attr.string_list(
            doc = "More arguments, placed before the others, for a machine with `{harts}` harts. Omitted if it has one.",
        ),
        "harts": attr.int(doc = "Harts of the machine. Default: those that the image is for."),
        "pace": attr.string(doc = "Where firmware runs and how long that takes, for those who wait."),
        "extensions": attr.string_list(
            doc = "Extensions of the hart that not all harts with its base have: `optional` and `unnamed` of isas.bzl.",
        ),
        "path_tools": attr.label_list(
            doc = "Programs the emulator looks for on PATH.",
            cfg = "exec",
        ),
        "plugins": attr.label_list(
            doc = "What the emulator loads when it starts, such as a bm_spike_extension.",
            cfg = "exec",
            providers = [BmEmulatorPluginInfo],
        ),
        "vlen": attr.int(doc = "VLEN in bits of the hart; 0 without a vector unit.", default = -1),
    },
    provides = [BmExecEnvInfo],
)
