"""bm_flash and bm_flash_test: write firmware to its board, by hand or as a test."""

load("//tools/rules:providers.bzl", "BmFirmwareInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")

def _launcher(ctx, more):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    args = [firmware.elf, "--board", firmware.board.description] + more

    # A test does not know where the workspace is.
    if not firmware.board.description.owner.repo_name:
        args.append("--allow-code")
    runfiles = ctx.runfiles(files = firmware.board.flash_files)
    for target, name in ctx.attr._tools.items():
        args += ["--tool", "{}={}".format(name, target[DefaultInfo].files_to_run.executable.short_path)]
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    files = [firmware.elf, firmware.board.description]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._flash, args, files, runfiles))]

_ATTRS = {
    "firmware": attr.label(doc = "The firmware to write.", mandatory = True, providers = [BmFirmwareInfo]),
    "_flash": attr.label(default = "//tools/flash", executable = True, cfg = "exec"),
    "_tools": attr.label_keyed_string_dict(
        default = {
            "//third_party/tools:dfu_util": "dfu-util",
            "//third_party/tools:mtools": "mtools",
            "//third_party/tools:openocd": "openocd",
            "//third_party/tools:mkimage": "mkimage",
        },
        cfg = "exec",
    ),
}

bm_flash = rule(
    implementation = lambda ctx: _launcher(ctx, []),
    doc = """`bazel run` writes firmware to its board, by the methods in board.json.

    Arguments after `--` are those of tools/flash, e.g. `-- --port /dev/ttyUSB0 --monitor`.""",
    attrs = _ATTRS,
    executable = True,
)

bm_flash_test = rule(
    implementation = lambda ctx: _launcher(ctx, ["--monitor"]),
    doc = """Passes if the firmware, written to its board, prints PASS there.

    Needs the board: tag it `manual`, `exclusive`, `external` and `local`, and name the board's port
    with `--test_arg=--port=...`.""",
    attrs = _ATTRS,
    test = True,
)
