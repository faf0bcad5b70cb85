"""The features and actions that all toolchains share. Each toolchain adds its own flags."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load(
    "@bazel_tools//tools/cpp:cc_toolchain_config_lib.bzl",
    "action_config",
    "feature",
    "flag_group",
    "flag_set",
    "tool",
    "with_feature_set",
)
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")

_CXX = [ACTION_NAMES.cpp_compile, ACTION_NAMES.cpp_header_parsing, ACTION_NAMES.cpp_module_compile]
_COMPILE = _CXX + [
    ACTION_NAMES.c_compile,
    ACTION_NAMES.assemble,
    ACTION_NAMES.preprocess_assemble,
    ACTION_NAMES.linkstamp_compile,
]
_LINK = [
    ACTION_NAMES.cpp_link_executable,
    ACTION_NAMES.cpp_link_dynamic_library,
    ACTION_NAMES.cpp_link_nodeps_dynamic_library,
]

# Features defined by Bazel.
_COMPILE_IMPLIES = ["user_compile_flags", "compiler_input_flags", "compiler_output_flags"]
_LINK_IMPLIES = [
    "linkstamps",
    "output_execpath_flags",
    "library_search_directories",
    "libraries_to_link",
    "force_pic_flags",
    "user_link_flags",
    "linker_param_file",
]

# Keeps this machine's paths and dates out of outputs.
_REPRODUCIBLE = [
    "-no-canonical-prefixes",
    "-ffile-compilation-dir=.",
    "-Wno-builtin-macro-redefined",
    "-D__DATE__=\"redacted\"",
    "-D__TIMESTAMP__=\"redacted\"",
    "-D__TIME__=\"redacted\"",
]
_WARNINGS = ["-Wall", "-Wextra", "-fcolor-diagnostics"]

def _flags(name, actions, flags, with_features = []):
    return feature(
        name = name,
        enabled = True,
        flag_sets = [flag_set(
            actions = actions,
            flag_groups = [flag_group(flags = flags)],
            with_features = with_features,
        )] if flags else [],
    )

def _sanitizer(name, compile, link):
    return feature(name = name, flag_sets = [
        flag_set(actions = _COMPILE, flag_groups = [flag_group(flags = compile)]),
        flag_set(actions = _LINK, flag_groups = [flag_group(flags = link)]),
    ])

def _impl(ctx):
    def actions(names, file, implies):
        return [
            action_config(action_name = name, enabled = True, implies = implies, tools = [tool(tool = file)])
            for name in names
        ]

    action_configs = (
        actions(_COMPILE, ctx.file.clang, _COMPILE_IMPLIES) +
        actions(_LINK, ctx.file.clangxx, _LINK_IMPLIES) +
        actions([ACTION_NAMES.cpp_link_static_library], ctx.file.ar, ["archiver_flags", "linker_param_file"]) +
        actions([ACTION_NAMES.strip], ctx.file.strip, []) +
        actions([ACTION_NAMES.objcopy_embed_data], ctx.file.objcopy, [])
    )
    both = ctx.attr.target_flags + _REPRODUCIBLE
    features = [
        feature(name = "dbg"),
        feature(name = "opt"),
        feature(name = "fastbuild"),
        feature(name = "supports_pic", enabled = ctx.attr.supports_pic),
        feature(name = "supports_start_end_lib", enabled = True),
        _flags("target_flags", _COMPILE + _LINK, both),
        _flags("warnings", _COMPILE, _WARNINGS),
        _flags("target_compile_flags", _COMPILE, ctx.attr.compile_flags),
        _flags("c_standard", [ACTION_NAMES.c_compile], ["-std=c11", "-fno-trigraphs"]),
        _flags("cxx_standard", _CXX, ["-std=c++17"] + ctx.attr.cxx_flags),
        _flags("opt_flags", _COMPILE, ctx.attr.opt_flags, with_features = [with_feature_set(features = ["opt"])]),
        _flags("fastbuild_flags", _COMPILE, ctx.attr.fastbuild_flags, with_features = [with_feature_set(features = ["fastbuild"])]),
        # Not for assembly: kernels are raw encodings, so their lines mean nothing.
        _flags("debug_info", _CXX + [ACTION_NAMES.c_compile], ["-g", "-fdebug-prefix-map=external/="]),
        # Bazel would strip it unless -c dbg; on a target it takes no space.
        feature(name = "strip_debug_symbols"),
        _flags("dbg_flags", _COMPILE, ["-Og"], with_features = [with_feature_set(features = ["dbg"])]),
        _flags("sections", _COMPILE, ["-ffunction-sections", "-fdata-sections"]),
        _flags("target_link_flags", _LINK, ctx.attr.link_flags + [file.path for file in ctx.files.libgcc]),
    ]
    if ctx.attr.sanitizers:
        features += [
            _sanitizer("asan", ["-fsanitize=address", "-fno-omit-frame-pointer"], ["-fsanitize=address"]),
            _sanitizer("ubsan", ["-fsanitize=undefined", "-fno-sanitize-recover=all"], ["-fsanitize=undefined"]),
            _sanitizer("tsan", ["-fsanitize=thread"], ["-fsanitize=thread"]),
            # Instruments everything. A target gets libFuzzer's main only by linking it itself (linkopt -fsanitize=fuzzer).
            _sanitizer("fuzzer", ["-fsanitize=fuzzer-no-link"], ["-fsanitize=fuzzer-no-link"]),
        ]
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "unknown",
        abi_version = "unknown",
        action_configs = action_configs,
        compiler = "clang",
        cxx_builtin_include_directories = ctx.attr.include_directories,
        features = features,
        host_system_name = "local",
        target_cpu = ctx.attr.cpu,
        target_libc = "unknown",
        target_system_name = ctx.attr.triple,
        toolchain_identifier = "clang-" + ctx.attr.triple,
    )

cc_toolchain_config = rule(
    implementation = _impl,
    attrs = {
        "ar": attr.label(allow_single_file = True, mandatory = True),
        "clang": attr.label(allow_single_file = True, mandatory = True),
        "clangxx": attr.label(allow_single_file = True, mandatory = True),
        "compile_flags": attr.string_list(doc = "For C, C++ and assembly."),
        "cpu": attr.string(mandatory = True),
        "cxx_flags": attr.string_list(),
        "fastbuild_flags": attr.string_list(),
        "include_directories": attr.string_list(doc = "Folders of the compiler's own headers."),
        "libgcc": attr.label(allow_single_file = True, doc = "An archive linked into every program."),
        "link_flags": attr.string_list(),
        "objcopy": attr.label(allow_single_file = True, mandatory = True),
        "opt_flags": attr.string_list(),
        "sanitizers": attr.bool(doc = "Whether the features asan, ubsan, tsan and fuzzer exist; otherwise requesting them has no effect."),
        "strip": attr.label(allow_single_file = True, mandatory = True),
        "supports_pic": attr.bool(),
        "target_flags": attr.string_list(doc = "For compiling and linking."),
        "triple": attr.string(mandatory = True),
    },
    provides = [CcToolchainConfigInfo],
)
