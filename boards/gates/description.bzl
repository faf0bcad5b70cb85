"""litex_description: where things are in a system, for C, the linker, and tools."""

def _litex_description_impl(ctx):
    (csr,) = ctx.attr.soc[OutputGroupInfo].csr.to_list()
    args = ctx.actions.args()
    args.add("--csr", csr)
    args.add("--name", ctx.attr.board)
    args.add("--title", ctx.attr.title)
    args.add("--isa", ctx.attr.isa)
    args.add("--stack", ctx.attr.stack_bytes)
    args.add("--reset-offset", ctx.attr.reset_offset)
    args.add("--baud", ctx.attr.baud)
    args.add_all(ctx.attr.devices, before_each = "--device")
    args.add("--code", ctx.outputs.code)
    args.add("--header", ctx.outputs.header)
    args.add("--memory", ctx.outputs.memory)
    args.add("--board", ctx.outputs.description)
    ctx.actions.run(
        mnemonic = "LitexDescribe",
        executable = ctx.executable._describe,
        arguments = [args],
        inputs = [csr],
        outputs = [ctx.outputs.code, ctx.outputs.header, ctx.outputs.memory, ctx.outputs.description],
    )

litex_description = rule(
    implementation = _litex_description_impl,
    doc = "A board's board.c, soc.h, memory.ldh and board.json, from its system's csr.json.",
    attrs = {
        "baud": attr.int(doc = "Of the serial line over which LiteX's BIOS loads images; 0 if they are in the ROM."),
        "board": attr.string(doc = "Name of the board.", mandatory = True),
        "code": attr.output(doc = "board.c.", mandatory = True),
        "description": attr.output(doc = "board.json.", mandatory = True),
        "devices": attr.string_list(doc = "Names of the devices beside the CPU."),
        "header": attr.output(doc = "soc.h, for the simulator.", mandatory = True),
        "isa": attr.string(doc = "ISA of the CPU's kernels.", mandatory = True),
        "memory": attr.output(doc = "memory.ldh.", mandatory = True),
        "reset_offset": attr.int(doc = "Where in the ROM the CPU starts."),
        "soc": attr.label(doc = "litex_soc.", mandatory = True),
        "stack_bytes": attr.int(mandatory = True),
        "title": attr.string(doc = "What the board is, in a few words.", mandatory = True),
        "_describe": attr.label(default = "//boards/gates:describe", executable = True, cfg = "exec"),
    },
)
