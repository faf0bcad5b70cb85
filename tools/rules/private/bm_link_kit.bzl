"""bm_link_kit: the commands that turn bmc's output into an image, for tools that compile many models."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmExecEnvInfo")
load("//tools/rules/private:bm_firmware.bzl", "firmware_c")
load("//tools/rules/private:image.bzl", "IMAGE_ATTRS", "IMAGE_RULE")
load("//tools/rules/private:llvm.bzl", "llvm_files", "llvm_program")

# The tool's name for the model it compiles.
_C_NAME = "model"

def _archives(contexts):
    """Returns the static libraries and the flags of linking contexts."""
    archives, flags = [], []
    for context in contexts:
        for linker_input in context.linker_inputs.to_list():
            flags += linker_input.user_link_flags
            for library in linker_input.libraries:
                archive = library.static_library or library.pic_static_library
                if archive not in archives:
                    archives.append(archive)
    return archives, flags

def _bm_link_kit_impl(ctx):
    board = ctx.attr.board[BmBoardInfo]
    envs = {name: env[BmExecEnvInfo] for env, name in ctx.attr.run_envs.items()}
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    profile = ctx.attr._profile_on if ctx.attr.profile else ctx.attr._profile_off
    libraries = [dep[CcInfo] for dep in ctx.attr._application + [profile]] + [board.hal]
    headers = depset(transitive = [library.compilation_context.headers for library in libraries])
    archives, flags = _archives([library.linking_context for library in libraries])

    def command(action, variables):
        return [cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = action,
        )] + cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        )

    compile_variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        quote_include_directories = depset(["."]),
    )
    link = command("c++-link-executable", cc_common.create_link_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_link_flags = flags + ["-Wl,-T," + board.linker_script.path],
    ))
    files = depset(archives + [board.linker_script], transitive = [headers, llvm_files(ctx), toolchain.all_files])
    kit = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(kit, json.encode_indent({
        "archives": [archive.path for archive in archives],
        "assemble": command("preprocess-assemble", compile_variables),
        "compile": command("c-compile", compile_variables),
        "firmware_c": firmware_c(board, ctx.attr.isa, [struct(
            c_name = _C_NAME,
            devices = [],
            kernels = "prelinked",
            header = _C_NAME + ".h",
        )]),
        "files": {file.path: file.short_path for file in files.to_list()},
        "isa": ctx.attr.isa,
        "c_name": _C_NAME,
        "link": link,
        "march": ISAS[ctx.attr.isa]["march"],
        "objdump": llvm_program(ctx, "objdump").path,
        "runs": {name: {
            "argv": [getattr(word, "short_path", word) for word in env.command(env, "{elf}", "", ctx.attr.harts)],
            "deadline_seconds": env.deadline_seconds,
            "path_tools": [tool.executable.short_path for tool in env.path_tools],
        } for name, env in envs.items()},
        "unnamed": ISAS[ctx.attr.isa].get("unnamed", []),
    }))
    runfiles = ctx.runfiles(files = [kit], transitive_files = files)
    runfiles = runfiles.merge_all([env.runfiles for env in envs.values()])
    return [DefaultInfo(files = depset([kit]), runfiles = runfiles)]

bm_link_kit = rule(
    implementation = _bm_link_kit_impl,
    doc = """Records the commands that compile bmc's output, link it with the self-check and boot it in
    `run_envs`.

    The result is JSON; its runfiles contain everything the commands need. `files` maps the paths in
    the commands to paths in the runfiles.""",
    attrs = {key: value for key, value in IMAGE_ATTRS.items() if key not in ["expect", "run_env"]} | {
        "profile": attr.bool(doc = "Count the instructions of every dispatch and print them."),
        "run_envs": attr.label_keyed_string_dict(
            doc = "Environments of the board -> the name of each in the JSON.",
            allow_empty = False,
            mandatory = True,
            providers = [BmExecEnvInfo],
        ),
        "_application": attr.label_list(
            default = [
                "//runtime_bm/app:firmware",
                "//runtime_bm/app:hooks_default",
                "//runtime_bm/app:main",
            ],
            providers = [CcInfo],
        ),
        "_profile_off": attr.label(default = "//runtime_bm/app:profile_off", providers = [CcInfo]),
        "_profile_on": attr.label(default = "//runtime_bm/app:profile_on", providers = [CcInfo]),
    },
    **{key: value for key, value in IMAGE_RULE.items() if key != "executable"}
)
