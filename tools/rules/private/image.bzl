"""Linking a bare-metal image: the part that bm_image and bm_firmware share."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmExecEnvInfo", "BmFirmwareInfo")
load("//tools/rules/private:image_note.bzl", "note_c")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:llvm.bzl", "LLVM_ATTRS", "llvm_files", "llvm_program")
load("//tools/rules/private:program.bzl", "command_of", "image_files", "misfit")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "check_isa", "isa_transition", "tool_transition", "vlen_of_isa")

# The attributes that a rule adds to its own in order to link an image.
IMAGE_ATTRS = LLVM_ATTRS | {
    "board": attr.label(mandatory = True, providers = [BmBoardInfo]),
    "expect": attr.string(
        doc = """How a good run ends: PASS, with the self-check's PASS record, or EXIT, for an application
        whose own main returns 0.""",
        default = "PASS",
        values = ["PASS", "EXIT"],
    ),
    "harts": attr.int(
        doc = "Harts that run the models together, if the board has so many (docs/how-to/several-harts.md).",
        default = 1,
    ),
    "isa": attr.string(doc = "ISA of the kernels, e.g. rv64gcv_zvl256b.", mandatory = True),
    "run_env": attr.label(
        doc = "Where `bazel run` boots it, if not in the `exec_env` of its board.",
        providers = [BmExecEnvInfo],
    ),
    "run_as": attr.label(
        doc = "The same for the board that `--board` names, which `bazel build` and `run` take instead, or `//boards:none`.",
    ),
    "_flash": attr.label(default = "//tools/flash", executable = True, cfg = tool_transition),
    "_live": attr.label(default = "//tools/run:live", executable = True, cfg = tool_transition),
    "_seal": attr.label(default = "//tools/actions/seal", executable = True, cfg = tool_transition),
}

# Its additions to the call of rule().
IMAGE_RULE = {
    "cfg": isa_transition,
    "executable": True,
    "fragments": ["cpp"],
    "toolchains": use_cpp_toolchain(),
}

def _check_harts(label, harts, board):
    """Fails unless the board has as many harts as the image is for."""
    if harts < 1 or harts > board.harts:
        fail("{}: harts = {}, and the board {} has {}: build the image for 1 to {}, or for another board".format(
            label,
            harts,
            board.name,
            board.harts,
            board.harts,
        ))

def image_name(ctx):
    """Returns what the names of an image's files begin with.

    The images for all boards of an ISA that `--board` may name lie in one folder.
    """
    name = ctx.label.name
    return "{}.{}".format(name, ctx.attr.board[BmBoardInfo].name) if "._for_" in name else name

def link_image(ctx, libraries, models = [], source = "", stamps = []):
    """Links an image for the board of the rule.

    Args:
      ctx: context of a rule with IMAGE_ATTRS.
      libraries: list of CcInfo.
      models: list of string, the names of the models inside.
      source: string, C source of this image only; empty without models.
      stamps: list of File that must exist before anything is linked.

    Returns:
      struct of Files: elf, map, disasm; and bin, a list of Files.
    """
    check_isa(ctx.label, ctx.attr.isa)
    board = ctx.attr.board[BmBoardInfo]
    _check_harts(ctx.label, ctx.attr.harts, board)
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    libraries = libraries + [board.hal]
    flags = []
    inputs = stamps
    if board.linker_script:
        flags.append("-Wl,-T," + board.linker_script.path)
        inputs = inputs + [board.linker_script]
    outputs = board.note
    if models:
        source_file = ctx.actions.declare_file(image_name(ctx) + "_firmware.c")
        ctx.actions.write(source_file, source + note_c(board.name, ctx.attr.isa, models))
        _, outputs = cc_common.compile(
            name = image_name(ctx),
            actions = ctx.actions,
            feature_configuration = features,
            cc_toolchain = toolchain,
            srcs = [source_file],
            compilation_contexts = [library.compilation_context for library in libraries],
        )
    map_file = ctx.actions.declare_file(image_name(ctx) + ".map")
    linked = cc_common.link(
        name = image_name(ctx) + ".linked.elf",
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        linking_contexts = [library.linking_context for library in libraries],
        user_link_flags = flags + ["-Wl,-Map=" + map_file.path],
        additional_inputs = inputs,
        additional_outputs = [map_file],
    )
    elf = _seal(ctx, linked.executable)
    return struct(
        elf = elf,
        map = map_file,
        bin = _raw_images(ctx, elf, board),
        disasm = _disassembly(ctx, elf),
    )

def _seal(ctx, linked):
    """Returns the ELF with checks over its final bytes; whatever is derived from an image comes after it.

    There is none if the ISA lacks an instruction in it.
    """
    elf = ctx.actions.declare_file(image_name(ctx) + ".elf")
    isa = ISAS[ctx.attr.isa]
    args = ctx.actions.args()
    args.add(linked)
    args.add("--out", elf)
    args.add("--objdump", llvm_program(ctx, "objdump"))
    args.add("--isa", ctx.attr.isa)
    args.add("--march", isa["march"])
    args.add_all(isa.get("unnamed", []), before_each = "--unnamed")
    run_tool(
        ctx,
        mnemonic = "BmSeal",
        tool = ctx.executable._seal,
        arguments = args,
        inputs = [linked],
        tools = llvm_files(ctx),
        outputs = [elf],
    )
    return elf

def _raw_images(ctx, elf, board):
    """Returns what belongs into the memories of the board, as raw files."""
    sections = {".bin": []}
    if board.weights_apart:
        sections = {
            ".bin": ["--remove-section=.bm.weights"],
            ".weights.bin": ["--only-section=.bm.weights"],
        }
    files = []
    for suffix, options in sections.items():
        binary = ctx.actions.declare_file(image_name(ctx) + suffix)
        ctx.actions.run(
            mnemonic = "BmBinary",
            executable = llvm_program(ctx, "objcopy"),
            arguments = ["-O", "binary"] + options + [elf.path, binary.path],
            inputs = [elf],
            tools = llvm_files(ctx),
            outputs = [binary],
        )
        files.append(binary)
    return files

def _disassembly(ctx, elf):
    """Returns the disassembly."""
    disassembly = ctx.actions.declare_file(image_name(ctx) + ".disasm")
    ctx.actions.run_shell(
        mnemonic = "BmDisassemble",
        command = '"$1" -d --no-show-raw-insn "$2" > "$3"',
        arguments = [llvm_program(ctx, "objdump").path, elf.path, disassembly.path],
        inputs = [elf],
        tools = llvm_files(ctx),
        outputs = [disassembly],
    )
    return disassembly

def _flash_image(ctx, board, elf):
    """Returns the contents of the board's whole flash chip."""
    out = ctx.actions.declare_file(image_name(ctx) + ".flash")
    args = ctx.actions.args()
    args.add(elf)
    args.add("--board", board.description)
    args.add("--method", "pflash")
    args.add("--port", out)
    ctx.actions.run(
        mnemonic = "BmFlashImage",
        executable = ctx.executable._flash,
        arguments = [args],
        inputs = [board.description, elf],
        outputs = [out],
    )
    return out

def _chosen(ctx):
    """Whether `--board` names a board."""
    return ctx.attr.run_as and BmFirmwareInfo in ctx.attr.run_as

def _run(ctx, firmware):
    """Returns what `bazel run` starts, as DefaultInfo's fields."""
    if _chosen(ctx):
        script = ctx.actions.declare_file(ctx.label.name + ".sh")
        program = ctx.attr.run_as[DefaultInfo].files_to_run.executable
        ctx.actions.symlink(output = script, target_file = program, is_executable = True)
        return {"executable": script, "runfiles": ctx.attr.run_as[DefaultInfo].default_runfiles}
    if ctx.attr.run_env:
        return _boot(ctx, firmware, ctx.attr.run_env[BmExecEnvInfo])
    env = firmware.board.exec_env
    return _boot(ctx, firmware, env) if env and not misfit(firmware, env) else _no_emulator(ctx, firmware)

def _boot(ctx, firmware, env):
    """Returns the executable that boots the image in an environment, as DefaultInfo's fields."""
    args = ["--deadline", str(env.deadline_seconds), "--expect", firmware.expect]
    for tool in env.path_tools:
        args += ["--tool-path", tool.executable]
    for report in firmware.model_reports:
        args += ["--report", report]

    # A word of the emulator's command may begin with a dash.
    args += ["--emulator=" + word for word in command_of(ctx.label, firmware, env)]
    files = image_files(firmware) + firmware.model_reports
    return write_launcher(ctx, ctx.attr._live[0], args, files, env.runfiles)

def _no_emulator(ctx, firmware):
    """Returns an executable that reports that nothing here can run the image."""
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, """#!/bin/sh
echo '{}: no emulator runs this image for the board {}: X.flash of a suite X puts its image on a board' >&2
exit 1
""".format(str(ctx.label).partition("._for_")[0], firmware.board.name), is_executable = True)
    return {"executable": script}

def image_providers(ctx, image, models = [], report = None):
    """Returns the providers of a linked image, including `bazel run`.

    Args:
      ctx: context of a rule with IMAGE_ATTRS.
      image: what link_image returned.
      models: list of BmModelInfo.
      report: File or None.

    Returns:
      list of providers: DefaultInfo, OutputGroupInfo, BmFirmwareInfo.
    """
    board = ctx.attr.board[BmBoardInfo]
    firmware = BmFirmwareInfo(
        elf = image.elf,
        flash = _flash_image(ctx, board, image.elf) if board.flash_image else None,
        board = board,
        calls_libraries = bool([model for model in models if model.libraries]),
        devices = [device for model in models for device in model.devices],
        expect = ctx.attr.expect,
        harts = ctx.attr.harts,
        isa = ctx.attr.isa,
        vlen = vlen_of_isa(ctx.attr.isa),
        model_codes = [model.code for model in models],
        model_reports = [model.report for model in models],
        report = report,
    )
    groups = {
        "bin": image.bin,
        "disasm": [image.disasm],
        "elf": [image.elf],
        "map": [image.map],
        "report": [report] if report else [],
    }
    if _chosen(ctx):
        # The files of the board that `--board` names, too.
        return [
            DefaultInfo(files = ctx.attr.run_as[DefaultInfo].files, **_run(ctx, firmware)),
            ctx.attr.run_as[OutputGroupInfo],
            firmware,
        ]
    return [
        DefaultInfo(files = depset([file for files in groups.values() for file in files]), **_run(ctx, firmware)),
        OutputGroupInfo(
            flash = depset([firmware.flash] if firmware.flash else []),
            golden = depset([model.files["golden.bin"] for model in models]),
            # Whoever builds anything with the image hears of it if it takes too much RAM.
            _validation = depset(groups["report"] if getattr(ctx.attr, "ram", 0) else []),
            **{name: depset(files) for name, files in groups.items()}
        ),
        firmware,
    ]
