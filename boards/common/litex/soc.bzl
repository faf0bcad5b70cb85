"""litex_soc: a system on chip in Verilog around an open CPU design, and where things are in it."""

def _litex_soc_impl(ctx):
    rtl = ctx.actions.declare_directory(ctx.label.name + ".rtl")
    csr = ctx.actions.declare_file(ctx.label.name + ".csr.json")
    devices = {
        name: file
        for target, names in ctx.attr.devices.items()
        for name in names.split(" ")
        for file in target[DefaultInfo].files.to_list()
    }
    args = ctx.actions.args()
    args.add("--cpu", ctx.attr.cpu)
    args.add("--variant", ctx.attr.variant)
    args.add("--rom", ctx.attr.rom_bytes)
    args.add("--ram", ctx.attr.ram_bytes)
    args.add_all([rtl], before_each = "--rtl", expand_directories = False)
    args.add("--csr", csr)
    for name, file in devices.items():
        args.add_all("--device", [name, file])
    ctx.actions.run(
        mnemonic = "LitexSoc",
        progress_message = "Making the system on chip %{label}",
        executable = ctx.executable._soc,
        arguments = [args],
        inputs = ctx.files.devices + ctx.files.device_files,
        outputs = [rtl, csr],
    )
    args = ctx.actions.args()
    args.add("--csr", csr)
    args.add("--name", ctx.attr.board)
    args.add("--title", ctx.attr.title)
    args.add("--isa", ctx.attr.isa)
    args.add("--stack", ctx.attr.stack_bytes)
    args.add("--reset-offset", ctx.attr.reset_offset)
    args.add_all(devices.keys(), before_each = "--device")
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
    return [
        DefaultInfo(files = depset([rtl])),
        OutputGroupInfo(csr = depset([csr])),
    ]

litex_soc = rule(
    implementation = _litex_soc_impl,
    doc = "A system on chip: its Verilog, csr.json, and the board's soc.h, memory.ldh and board.json.",
    attrs = {
        "board": attr.string(doc = "Name of the board.", mandatory = True),
        "code": attr.output(doc = "board.c.", mandatory = True),
        "cpu": attr.string(doc = "CPU, as LiteX names it.", mandatory = True),
        "description": attr.output(doc = "board.json.", mandatory = True),
        "device_files": attr.label_list(
            doc = "What the devices' files import or instantiate.",
            allow_files = True,
        ),
        "devices": attr.label_keyed_string_dict(
            doc = "Python files with `add_to(soc, name)`, and the names of the devices that each adds, with spaces between.",
            allow_files = [".py"],
        ),
        "header": attr.output(doc = "soc.h, for the simulator.", mandatory = True),
        "isa": attr.string(doc = "ISA of the CPU's kernels.", mandatory = True),
        "memory": attr.output(doc = "memory.ldh.", mandatory = True),
        "ram_bytes": attr.int(mandatory = True),
        "reset_offset": attr.int(doc = "Where in the ROM the CPU starts."),
        "rom_bytes": attr.int(mandatory = True),
        "stack_bytes": attr.int(mandatory = True),
        "title": attr.string(doc = "What the board is, in a few words.", mandatory = True),
        "variant": attr.string(doc = "Variant of the CPU, as LiteX names it.", mandatory = True),
        "_describe": attr.label(default = "//boards/common/litex:describe", executable = True, cfg = "exec"),
        "_soc": attr.label(default = "//boards/common/litex:soc", executable = True, cfg = "exec"),
    },
)
