"""ecp5_bitstream: a design in Verilog as a bitstream for an ECP5, by yosys, nextpnr and ecppack."""

def _arguments(part):
    """Returns nextpnr's options for a part, such as LFE5U-85F-6BG381C: size, speed grade, and package."""
    _, size, rest = part.split("-")
    return [
        "--{}k".format(size.removesuffix("F")),
        "--speed",
        rest[0],
        "--package",
        "CABGA" + rest[3:].removesuffix("C"),
    ]

def _ecp5_bitstream_impl(ctx):
    def file(suffix):
        return ctx.actions.declare_file(ctx.label.name + suffix)

    def run(program, inputs, outputs, arguments):
        log = file("." + program + ".log")
        args = ctx.actions.args()
        args.add("--program", program)
        args.add_all(inputs, before_each = "--input", expand_directories = False)
        args.add_all(outputs, before_each = "--output")
        args.add("--log", log)
        args.add("--")
        args.add_all(arguments)
        ctx.actions.run(
            mnemonic = "Ecp5" + program.partition("-")[0].capitalize(),
            progress_message = "%s: %s" % (program, ctx.label),
            executable = ctx.executable._run,
            arguments = [args],
            inputs = inputs,
            outputs = outputs + [log],
        )
        return log

    netlist = file(".json")
    placed = file(".config")
    timing = file(".timing.json")
    bit = file(".bit")
    svf = file(".svf")
    logs = [
        run(
            "yosys",
            [ctx.file.design, ctx.file.rom],
            [netlist],
            ["-p", "; ".join([
                "read_verilog_file_list -f files.f",
                "synth_ecp5 -top {} -json {}".format(ctx.attr.top, netlist.basename),
            ])],
        ),
        run(
            "nextpnr-ecp5",
            [ctx.file.design, netlist],
            [placed, timing],
            _arguments(ctx.attr.part) + [
                "--json",
                netlist.basename,
                "--lpf",
                ctx.attr.top + ".lpf",
                "--textcfg",
                placed.basename,
                "--report",
                timing.basename,
            ],
        ),
        run(
            "ecppack",
            [placed],
            [bit, svf],
            ["--compress", placed.basename, "--svf", svf.basename, bit.basename],
        ),
    ]
    return [
        DefaultInfo(files = depset([bit, svf])),
        OutputGroupInfo(logs = depset(logs + [timing])),
    ]

ecp5_bitstream = rule(
    implementation = _ecp5_bitstream_impl,
    doc = "Makes a bitstream for an FPGA of Lattice's ECP5: X.bit, and X.svf, which loads it over JTAG.",
    attrs = {
        "design": attr.label(
            doc = "A folder with files.f, a list of the Verilog in it, and the pins in TOP.lpf.",
            allow_single_file = True,
            mandatory = True,
        ),
        "part": attr.string(doc = "The FPGA, as Lattice names it.", mandatory = True),
        "rom": attr.label(
            doc = "A file that the design reads with $readmemh; it takes the place of one of its own.",
            allow_single_file = True,
            mandatory = True,
        ),
        "top": attr.string(doc = "The outermost module.", mandatory = True),
        "_run": attr.label(default = "//third_party/yowasp:run", executable = True, cfg = "exec"),
    },
)
