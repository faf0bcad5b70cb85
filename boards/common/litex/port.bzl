"""litex_port: a system in gates that waits at a serial port."""

load("//tools/rules/private:launcher.bzl", "write_launcher")

def _litex_port_impl(ctx):
    simulator = ctx.attr.simulator[DefaultInfo]
    args = [simulator.files_to_run.executable, ctx.file.rom]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._port, args, args, simulator.default_runfiles))]

litex_port = rule(
    implementation = _litex_port_impl,
    doc = "`bazel run` prints the name of a serial port, at whose other end the system runs.",
    attrs = {
        "rom": attr.label(doc = "What its ROM holds, as an ELF.", allow_single_file = True, mandatory = True),
        "simulator": attr.label(doc = "Program of its gates.", executable = True, cfg = "exec", mandatory = True),
        "_port": attr.label(default = "//boards/common/litex:port", executable = True, cfg = "exec"),
    },
    executable = True,
)
