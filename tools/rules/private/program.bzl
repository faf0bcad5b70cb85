"""How rules and programs start firmware in an environment."""

load("//compiler/bmc:isas.bzl", "ISAS")

def misfit(firmware, env, allow_smaller_vlen = False):
    """Says why `firmware` cannot run in `env`.

    Args:
      firmware: BmFirmwareInfo.
      env: BmExecEnvInfo.
      allow_smaller_vlen: let kernels boot on a hart whose VLEN is too small for them, or that lacks an extension, and
        an image where there are too few harts.

    Returns:
      a sentence; "" if it can.
    """
    if firmware.board.name != env.board:
        return "the firmware is built for board {}, the environment runs board {}".format(firmware.board.name, env.board)
    if firmware.vlen > env.vlen and not allow_smaller_vlen:
        return ("the kernels need VLEN {}, the environment has {}: build the firmware with a smaller isa or run it in " +
                "another environment").format(firmware.vlen, env.vlen)
    if firmware.harts > 1 and (not env.hart_args or firmware.harts > (env.harts or firmware.harts)) and not allow_smaller_vlen:
        return "the firmware is for {} harts, the environment has {}: build it for fewer or run it elsewhere".format(
            firmware.harts,
            env.harts or 1,
        )
    absent = [device for device in firmware.devices if device not in env.devices]
    if absent:
        return ("the kernel libraries need {}, which the environment does not have: run the firmware in another " +
                "environment").format(", ".join(absent))
    about = ISAS.get(firmware.isa, {})
    wanted = about.get("optional", []) + about.get("unnamed", [])
    missing = [extension for extension in wanted if extension not in env.extensions]
    if missing and not allow_smaller_vlen:
        return ("the kernels need {}, which the hart of the environment does not have: build the firmware with another " +
                "isa or run it in another environment").format(", ".join(missing))
    return ""

def check_env(label, firmware, env, allow_smaller_vlen = False):
    """Fails if `firmware` cannot run in `env`, with a sentence that says why.

    Args:
      label: the target to name.
      firmware: BmFirmwareInfo.
      env: BmExecEnvInfo.
      allow_smaller_vlen: as in misfit().
    """
    reason = misfit(firmware, env, allow_smaller_vlen)
    if reason:
        fail("{}: {}".format(label, reason))

def command_of(label, firmware, env):
    """Makes the command that runs `firmware` in `env` from runfiles; fails if it cannot run there.

    Args:
      label: the target to name.
      firmware: BmFirmwareInfo.
      env: BmExecEnvInfo.

    Returns:
      list of string.
    """
    check_env(label, firmware, env)
    flash = firmware.flash.short_path if firmware.flash else ""
    return [
        getattr(word, "short_path", word)
        for word in env.command(env, firmware.elf.short_path, flash, firmware.harts)
    ]

def image_files(firmware):
    """Returns the files of an image that an environment runs."""
    return [firmware.elf] + ([firmware.flash] if firmware.flash else [])

def program_of(ctx, firmware, env, reports, board_deadline):
    """Describes firmware to tools/run/debug.

    Args:
      ctx: the rule's context, with the attribute `_openocd`.
      firmware: BmFirmwareInfo.
      env: BmExecEnvInfo; None if it is on its board.
      reports: list of File.
      board_deadline: seconds that a run may take on the board.

    Returns:
      dict of the fields of tools/run/debug's Program.
    """
    if env and env.emulator and not env.debug_args:
        fail("{}: the environment of {} cannot wait for gdb: it sets no debug_args".format(
            ctx.label,
            env.board,
        ))
    run = command_of(ctx.label, firmware, env) if env else []
    return {
        "board": firmware.board.name,
        "deadline": env.deadline_seconds if env else board_deadline,
        "description": firmware.board.description.short_path,
        "elf": firmware.elf.short_path,
        "openocd": ctx.executable._openocd.short_path,
        "path_tools": [tool.executable.short_path for tool in env.path_tools] if env else [],
        "reports": [report.short_path for report in reports],
        "run": run,
        "wait": run[:1] + env.debug_args + run[1:] if env and env.emulator else [],
    }

def program_files(firmware):
    """Returns the files that program_of() names, without reports."""
    return image_files(firmware) + [firmware.board.description] + firmware.board.flash_files
