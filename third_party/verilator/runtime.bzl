"""verilator_runtime: the part of Verilator with which its programs are linked, compiled once for all designs."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

_SOURCES = ["verilated.cpp", "verilated_dpi.cpp", "verilated_threads.cpp"]

# How all code of a simulator is compiled.
VERILATOR_FLAGS = ["-g0", "-w", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0"]

def _verilator_runtime_impl(ctx):
    headers = [file for file in ctx.files._files if file.extension == "h"]
    includes = [file for file in headers if file.basename == "verilated.h"][0].dirname
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compilation, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [file for file in ctx.files._files if file.basename in _SOURCES],
        public_hdrs = headers,
        system_includes = [includes, includes + "/vltstd"],
        user_compile_flags = ["-O3"] + VERILATOR_FLAGS,
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        disallow_dynamic_library = True,
    )
    return [CcInfo(compilation_context = compilation, linking_context = linking)]

verilator_runtime = rule(
    implementation = _verilator_runtime_impl,
    doc = "Compiles Verilator's runtime.",
    attrs = {"_files": attr.label(default = "@debian_verilator//:root")},
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = use_cpp_toolchain(),
)
