"""litex_soc: a system on chip in Verilog around an open CPU design, and where things are in it."""

def _litex_soc_impl(ctx):
    rtl = ctx.actions.declare_directory(ctx.label.name + ".rtl")
    csr = ctx.actions.declare_file(ctx.label.name + ".csr.json")
    software = ctx.actions.declare_directory(ctx.label.name + ".software")
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
    if ctx.file.fpga:
        args.add("--board", ctx.file.fpga)
        args.add("--part", ctx.attr.part)
        args.add("--hertz", ctx.attr.hertz)
        args.add("--baud", ctx.attr.baud)
    else:
        args.add("--ram", ctx.attr.ram_bytes)
        if ctx.attr.data_cache_bytes:
            args.add("--data-cache", ctx.attr.data_cache_bytes)
    args.add_all([rtl], before_each = "--rtl", expand_directories = False)
    args.add("--csr", csr)
    args.add_all([software], before_each = "--software", expand_directories = False)
    for name, file in devices.items():
        args.add_all("--device", [name, file])
    ctx.actions.run(
        mnemonic = "LitexSoc",
        progress_message = "Making the system on chip %{label}",
        executable = ctx.executable._fpga if ctx.file.fpga else ctx.executable._soc,
        arguments = [args],
        inputs = ctx.files.fpga + ctx.files.devices + ctx.files.device_files,
        outputs = [rtl, csr, software],
    )
    args = ctx.actions.args()
    args.add("--csr", csr)
    args.add("--name", ctx.attr.board)
    args.add("--title", ctx.attr.title)
    args.add("--isa", ctx.attr.isa)
    args.add("--stack", ctx.attr.stack_bytes)
    args.add("--reset-offset", ctx.attr.reset_offset)
    args.add("--baud", ctx.attr.baud)
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
        OutputGroupInfo(csr = depset([csr]), software = depset([software])),
    ]

litex_soc = rule(
    implementation = _litex_soc_impl,
    doc = "A system on chip: its Verilog, csr.json, and the board's soc.h, memory.ldh and board.json.",
    attrs = {
        "baud": attr.int(doc = "Of an FPGA board's serial line."),
        "board": attr.string(doc = "Name of the board.", mandatory = True),
        "code": attr.output(doc = "board.c.", mandatory = True),
        "cpu": attr.string(doc = "CPU, as LiteX names it.", mandatory = True),
        "data_cache_bytes": attr.int(doc = "Data cache in a simulator, if not that of the design. VexRiscv only."),
        "description": attr.output(doc = "board.json.", mandatory = True),
        "device_files": attr.label_list(
            doc = "What the devices' files import or instantiate.",
            allow_files = True,
        ),
        "devices": attr.label_keyed_string_dict(
            doc = "Python files with `add_to(soc, name)`, and the names of the devices that each adds, with spaces between.",
            allow_files = [".py"],
        ),
        "fpga": attr.label(
            doc = "fpga.json: pins, clock and SDRAM of an FPGA board. Omitted for a simulator.",
            allow_single_file = [".json"],
        ),
        "header": attr.output(doc = "soc.h, for the simulator.", mandatory = True),
        "hertz": attr.int(doc = "Of an FPGA board's system clock."),
        "isa": attr.string(doc = "ISA of the CPU's kernels.", mandatory = True),
        "memory": attr.output(doc = "memory.ldh.", mandatory = True),
        "part": attr.string(doc = "FPGA, as its maker names it."),
        "ram_bytes": attr.int(doc = "RAM in a simulator; on a board, it is the SDRAM."),
        "reset_offset": attr.int(doc = "Where in the ROM the CPU starts."),
        "rom_bytes": attr.int(mandatory = True),
        "stack_bytes": attr.int(mandatory = True),
        "title": attr.string(doc = "What the board is, in a few words.", mandatory = True),
        "variant": attr.string(doc = "Variant of the CPU, as LiteX names it.", mandatory = True),
        "_describe": attr.label(default = "//boards/common/litex:describe", executable = True, cfg = "exec"),
        "_fpga": attr.label(default = "//boards/common/litex:fpga", executable = True, cfg = "exec"),
        "_soc": attr.label(default = "//boards/common/litex:soc", executable = True, cfg = "exec"),
    },
)
