"""litex_rom: what the ROM of a system holds, as its Verilog reads it."""

def _litex_rom_impl(ctx):
    # The name that LiteX gives it, in a folder of its own: a board has other files.
    words = ctx.actions.declare_file(ctx.label.name + "/system_rom.init")
    (csr,) = ctx.attr.soc[OutputGroupInfo].csr.to_list()
    args = ctx.actions.args()
    args.add("--csr", csr)
    args.add("--elf", ctx.file.elf)
    args.add("--out", words)
    ctx.actions.run(
        mnemonic = "LitexRom",
        executable = ctx.executable._rom,
        arguments = [args],
        inputs = [csr, ctx.file.elf],
        outputs = [words],
    )
    return [DefaultInfo(files = depset([words]))]

litex_rom = rule(
    implementation = _litex_rom_impl,
    doc = "The words of a system's ROM, from an ELF.",
    attrs = {
        "elf": attr.label(doc = "What the ROM holds.", allow_single_file = True, mandatory = True),
        "soc": attr.label(doc = "litex_soc.", mandatory = True),
        "_rom": attr.label(default = "//boards/gates:rom", executable = True, cfg = "exec"),
    },
)
