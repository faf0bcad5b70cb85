"""bm_board: a board as a target."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmExecEnvInfo")
load("//tools/rules/private:image_note.bzl", "note_c")
load("//tools/rules/private:transitions.bzl", "board_platform_transition", "c_transition", "check_isa")

def _linker_script(ctx, toolchain, features):
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
    args.add("-DBM_HARTS={}".format(ctx.attr._harts[BuildSettingInfo].value))
    args.add_all(["-E", "-P", "-x", "assembler-with-cpp", "-I", ctx.file.memory.dirname])
    args.add(ctx.file._sections)
    args.add("-o", script)
    ctx.actions.run(
        mnemonic = "BmLinkerScript",
        executable = compiler,
        arguments = [args],
        inputs = depset([ctx.file.memory, ctx.file._sections], transitive = [toolchain.all_files]),
        outputs = [script],
    )
    return script

def _note(ctx, toolchain, features):
    """Returns the note of images without models, compiled: it is the same in all of them."""
    source = ctx.actions.declare_file(ctx.label.name + "_note.c")
    ctx.actions.write(source, note_c(ctx.label.name, ctx.attr._isa[BuildSettingInfo].value, []))
    _, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [source],
    )
    return outputs

def _bm_board_impl(ctx):
    check_isa(ctx.label, ctx.attr.isa)
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    return [
        DefaultInfo(files = depset([ctx.file.description] + ctx.files.flash_files)),
        BmBoardInfo(
            name = ctx.label.name,
            isa = ctx.attr.isa,
            exec_env = ctx.attr.exec_env[BmExecEnvInfo] if ctx.attr.exec_env else None,
            devices = ctx.attr.devices,
            harts = ctx.attr.harts,
            platform = ctx.attr.platform.label,
            description = ctx.file.description,
            flash_files = ctx.files.flash_files,
            flash_image = ctx.attr.flash_image,
            linker_script = _linker_script(ctx, toolchain, features) if ctx.file.memory else None,
            note = _note(ctx, toolchain, features),
            weights_apart = ctx.attr.weights_apart,
            hal = ctx.attr.hal[0][CcInfo],
        ),
    ]

bm_board = rule(
    implementation = _bm_board_impl,
    doc = "Describes a board: where its memory is, and the code that drives it.",
    attrs = {
        "description": attr.label(
            doc = "board.json: memory regions, ISA and VLEN, for tools.",
            allow_single_file = [".json"],
            mandatory = True,
        ),
        "devices": attr.string_dict(
            doc = """Devices that kernel libraries may use: the address of each one's registers, such as `0x10020000`.
            If it is empty, `hal` defines `const uintptr_t bm_device_NAME`.""",
        ),
        "exec_env": attr.label(
            doc = "The emulator of the board, where `bazel run` boots its images, and `X.debug` and `X.bisect` run them. A board without one is reached by probe.",
            providers = [BmExecEnvInfo],
        ),
        "flash_files": attr.label_list(
            doc = "Files that flashing reads besides board.json, e.g. openocd.cfg.",
            allow_files = True,
        ),
        "flash_image": attr.bool(
            doc = """Also make images as the contents of the whole flash chip, with the size
            flash.methods.pflash.size from board.json: `{flash}` in an execution environment.""",
        ),
        "hal": attr.label(
            doc = "cc_library that implements runtime_bm/hal/hal.h.",
            cfg = c_transition,
            providers = [CcInfo],
            mandatory = True,
        ),
        "harts": attr.int(
            doc = "Its harts that an image may be for. With more than one, `hal` implements runtime_bm/hal/harts.h too.",
            default = 1,
        ),
        "isa": attr.string(
            doc = "ISA of the kernels of a suite that is built for this board by `--board`.",
            mandatory = True,
        ),
        "memory": attr.label(
            doc = "memory.ldh: the board's part of the linker script. Omitted for a hosted board.",
            allow_single_file = [".ldh"],
        ),
        "platform": attr.label(
            doc = "Platform that firmware for this board is compiled for.",
            mandatory = True,
        ),
        "weights_apart": attr.bool(
            doc = """Set it if memory.ldh defines a BM_WEIGHTS_REGION: the raw form of an image is then two files,
            `.bin` without the weights and `.weights.bin`, and not one with the gap between them.""",
        ),
        "_harts": attr.label(default = "//runtime_bm/harts:count"),
        "_isa": attr.label(default = "//tools/rules:isa"),
        "_sections": attr.label(
            default = "//runtime_bm/crt:link/sections.ld.S",
            allow_single_file = True,
        ),
    },
    cfg = board_platform_transition,
    fragments = ["cpp"],
    provides = [BmBoardInfo],
    toolchains = use_cpp_toolchain(),
)
