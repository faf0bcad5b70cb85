"""bm_firmware: model + runtime + board, linked into one image."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmExecEnvInfo", "BmFirmwareInfo", "BmModelInfo")
load("//tools/rules/private:bm_run.bzl", "check_env")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:transitions.bzl", "isa_transition", "vlen_of_isa")

_FIRMWARE_C = """// Generated: the one model of this image.
#include "runtime_bm/app/firmware.h"

#include "plan.h"

extern const bm_golden_t {name}_golden;

static uint8_t arena[{upper}_ARENA_BYTES] BM_FIRMWARE_ARENA;

const bm_plan_t *const bm_firmware_plan = &{name}_plan;
const bm_golden_t *const bm_firmware_golden = &{name}_golden;
const char bm_firmware_board[] = "{board}";
const char bm_firmware_isa[] = "{isa}";
const bm_span_t bm_firmware_arena = {{arena, sizeof(arena)}};
const bm_span_t bm_firmware_code = {{0, 0}};
"""

def _preprocess_linker_script(ctx, toolchain, features, board):
    """Returns the linker script: the runtime's sections over the board's memory."""
    script = ctx.actions.declare_file(ctx.label.name + ".ld")
    compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = "c-compile")
    args = ctx.actions.args()
    args.add_all(cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "preprocess-assemble",
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
        ),
    ))
    args.add_all(["-E", "-P", "-x", "assembler-with-cpp", "-I", board.memory.dirname])
    args.add(ctx.file._sections)
    args.add("-o", script)
    ctx.actions.run(
        mnemonic = "BmLinkerScript",
        executable = compiler,
        arguments = [args],
        inputs = depset([board.memory, ctx.file._sections], transitive = [toolchain.all_files]),
        outputs = [script],
    )
    return script

def _link(ctx, board, model):
    """Links the image; returns its ELF and map files."""
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    source = ctx.actions.declare_file(ctx.label.name + "_firmware.c")
    ctx.actions.write(source, _FIRMWARE_C.format(
        name = model.c_name,
        upper = model.c_name.upper(),
        board = board.name,
        isa = model.isa,
    ))
    libraries = [model.cc_info, board.hal] + [dep[CcInfo] for dep in [
        ctx.attr._main,
        ctx.attr._profile_on if ctx.attr.profile else ctx.attr._profile_off,
        ctx.attr.hooks,
    ]]
    if board.memory:
        libraries.append(ctx.attr._crt[CcInfo])
    _, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [source],
        compilation_contexts = [library.compilation_context for library in libraries],
    )
    elf_name = ctx.label.name + ".elf"
    map_file = ctx.actions.declare_file(ctx.label.name + ".map")
    flags = ["-Wl,-Map=" + map_file.path]
    scripts = []
    room = []
    if board.memory:
        room = [_check_room(ctx, board, model)]
        scripts = [_preprocess_linker_script(ctx, toolchain, features, board)]
        flags.append("-Wl,-T," + scripts[0].path)
    linked = cc_common.link(
        name = elf_name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        linking_contexts = [library.linking_context for library in libraries],
        user_link_flags = flags,
        additional_inputs = scripts + room,
        additional_outputs = [map_file],
    )
    return linked.executable, map_file

def _derive(ctx, elf):
    """Returns the raw image and the disassembly."""
    binary = ctx.actions.declare_file(ctx.label.name + ".bin")
    ctx.actions.run(
        mnemonic = "BmBinary",
        executable = ctx.executable._objcopy,
        arguments = ["-O", "binary", elf.path, binary.path],
        inputs = [elf],
        outputs = [binary],
    )
    disassembly = ctx.actions.declare_file(ctx.label.name + ".disasm")
    ctx.actions.run_shell(
        mnemonic = "BmDisassemble",
        command = '"$1" -d --no-show-raw-insn "$2" > "$3"',
        arguments = [ctx.executable._objdump.path, elf.path, disassembly.path],
        inputs = [elf],
        tools = [ctx.attr._objdump[DefaultInfo].files_to_run],
        outputs = [disassembly],
    )
    return binary, disassembly

def _check_room(ctx, board, model):
    """Returns a stamp that exists only if the model can fit: a sentence before the linker's."""
    stamp = ctx.actions.declare_file(ctx.label.name + ".room")
    args = ctx.actions.args()
    args.add("room")
    args.add("--board", board.description)
    args.add("--model-report", model.report)
    args.add("--out", stamp)
    ctx.actions.run(
        mnemonic = "BmRoom",
        executable = ctx.executable._size,
        arguments = [args],
        inputs = [board.description, model.report],
        outputs = [stamp],
    )
    return stamp

def _report(ctx, map_file, board, model):
    report = ctx.actions.declare_file(ctx.label.name + ".report.json")
    args = ctx.actions.args()
    args.add("report")
    args.add("--map", map_file)
    args.add("--board", board.description)
    args.add("--model-report", model.report)
    args.add("--out", report)
    ctx.actions.run(
        mnemonic = "BmReport",
        executable = ctx.executable._size,
        arguments = [args],
        inputs = [map_file, board.description, model.report],
        outputs = [report],
    )
    return report

def _bm_firmware_impl(ctx):
    board = ctx.attr.board[BmBoardInfo]
    model = ctx.attr.model[BmModelInfo]
    env = ctx.attr.run_env[BmExecEnvInfo]
    elf, map_file = _link(ctx, board, model)
    binary, disassembly = _derive(ctx, elf)
    report = _report(ctx, map_file, board, model)
    firmware = BmFirmwareInfo(
        elf = elf,
        board = board,
        isa = ctx.attr.isa,
        vlen = vlen_of_isa(ctx.attr.isa),
        model_report = model.report,
        report = report,
    )
    check_env(ctx.label, firmware, env)
    args = ["live", "--deadline", str(env.deadline_seconds)]
    for tool in env.path_tools:
        args += ["--tool-path", tool.executable]
    args += ["--"] + env.command(env, elf.short_path)
    run = write_launcher(ctx, ctx.attr._runner, args, [elf], env.runfiles)
    outputs = {"bin": binary, "disasm": disassembly, "elf": elf, "map": map_file, "report": report}
    return [
        DefaultInfo(files = depset(outputs.values()), **run),
        OutputGroupInfo(**{name: depset([file]) for name, file in outputs.items()}),
        firmware,
    ]

bm_firmware = rule(
    implementation = _bm_firmware_impl,
    doc = """Links a model, the runtime and a board into one image.

    Output groups: elf, bin, map, disasm, report. `bazel run` boots it in `run_env`.""",
    attrs = {
        "board": attr.label(mandatory = True, providers = [BmBoardInfo]),
        "hooks": attr.label(
            doc = "cc_library with the model's own runtime_bm/app/hooks.h functions.",
            default = "//runtime_bm/app:hooks_default",
            providers = [CcInfo],
        ),
        "isa": attr.string(doc = "ISA of the kernels, e.g. rv64gcv_zvl256b.", mandatory = True),
        "model": attr.label(mandatory = True, providers = [BmModelInfo]),
        "profile": attr.bool(doc = "Count the instructions of every dispatch and print them."),
        "run_env": attr.label(
            doc = "Where `bazel run` boots it.",
            mandatory = True,
            providers = [BmExecEnvInfo],
        ),
        "_crt": attr.label(default = "//runtime_bm/crt"),
        "_main": attr.label(default = "//runtime_bm/app:main"),
        "_objcopy": attr.label(default = "//third_party/llvm:objcopy", executable = True, cfg = "exec"),
        "_objdump": attr.label(default = "//third_party/llvm:objdump", executable = True, cfg = "exec"),
        "_profile_off": attr.label(default = "//runtime_bm/app:profile_off"),
        "_profile_on": attr.label(default = "//runtime_bm/app:profile_on"),
        "_runner": attr.label(default = "//tools/emulate:runner", executable = True, cfg = "exec"),
        "_size": attr.label(default = "//tools/size", executable = True, cfg = "exec"),
        "_sections": attr.label(
            default = "//runtime_bm/crt:link/sections.ld.S",
            allow_single_file = True,
        ),
    },
    cfg = isa_transition,
    executable = True,
    fragments = ["cpp"],
    toolchains = use_cpp_toolchain(),
)
