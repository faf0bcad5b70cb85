"""bm_terminal: `bazel run` starts firmware in its emulator, with this terminal as its console."""

load("//tools/rules:providers.bzl", "BmExecEnvInfo", "BmFirmwareInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:program.bzl", "command_of", "image_files")
load("//tools/rules/private:transitions.bzl", "tool_transition")

def _bm_terminal_impl(ctx):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    env = ctx.attr.exec_env[BmExecEnvInfo]
    args = ["--tool-path=" + tool.executable.short_path for tool in env.path_tools]
    args += ["--emulator=" + word for word in command_of(ctx.label, firmware, env)]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._terminal[0], args, image_files(firmware), env.runfiles))]

bm_terminal = rule(
    implementation = _bm_terminal_impl,
    doc = "`bazel run` starts firmware in its emulator, with this terminal as its console.",
    attrs = {
        "exec_env": attr.label(doc = "Where it runs.", mandatory = True, providers = [BmExecEnvInfo]),
        "firmware": attr.label(doc = "The firmware.", mandatory = True, providers = [BmFirmwareInfo]),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_terminal": attr.label(default = "//tools/run:terminal", executable = True, cfg = tool_transition),
    },
    executable = True,
)
