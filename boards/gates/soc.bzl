"""litex_soc: a system on chip in Verilog around an open CPU design, and csr.json, which says what is where."""

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
    return [
        DefaultInfo(files = depset([rtl])),
        OutputGroupInfo(csr = depset([csr]), software = depset([software])),
    ]

litex_soc = rule(
    implementation = _litex_soc_impl,
    doc = "A system on chip: its Verilog; csr.json and what LiteX's software includes are output groups.",
    attrs = {
        "baud": attr.int(doc = "Of an FPGA board's serial line."),
        "cpu": attr.string(doc = "CPU, as LiteX names it.", mandatory = True),
        "data_cache_bytes": attr.int(doc = "Data cache in a simulator, if not that of the design. VexRiscv only."),
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
        "hertz": attr.int(doc = "Of an FPGA board's system clock."),
        "part": attr.string(doc = "FPGA, as its maker names it."),
        "ram_bytes": attr.int(doc = "RAM in a simulator; on a board, it is the SDRAM."),
        "rom_bytes": attr.int(mandatory = True),
        "variant": attr.string(doc = "Variant of the CPU, as LiteX names it.", mandatory = True),
        "_fpga": attr.label(default = "//boards/gates:fpga", executable = True, cfg = "exec"),
        "_soc": attr.label(default = "//boards/gates:soc", executable = True, cfg = "exec"),
    },
)
