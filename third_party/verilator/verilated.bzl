"""verilated: a design in Verilog as a C++ library."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//third_party/verilator:runtime.bzl", "VERILATOR_FLAGS")

def _verilated_impl(ctx):
    sources = ctx.actions.declare_directory(ctx.label.name + ".cc")
    once = ctx.actions.declare_directory(ctx.label.name + ".once.cc")
    headers = ctx.actions.declare_directory(ctx.label.name + ".h")
    args = ctx.actions.args()
    args.add("--verilator", ctx.file._verilator)
    includes = [file for file in ctx.files._files if file.basename == "verilated.h"][0].dirname
    args.add("--root", includes.removesuffix("/include"))
    args.add_all([ctx.file.design], before_each = "--design", expand_directories = False)
    args.add("--top", ctx.attr.top)
    args.add("--prefix", ctx.attr.prefix)
    args.add_all([sources], before_each = "--sources", expand_directories = False)
    args.add_all([once], before_each = "--once", expand_directories = False)
    args.add_all([headers], before_each = "--headers", expand_directories = False)
    ctx.actions.run(
        mnemonic = "Verilate",
        progress_message = "Making a program of the design %{label}",
        executable = ctx.executable._verilate,
        arguments = [args],
        inputs = [ctx.file.design],
        tools = [ctx.file._verilator, depset(ctx.files._files)],
        outputs = [sources, once, headers],
    )
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    def compile(name, srcs, flags):
        return cc_common.compile(
            name = name,
            actions = ctx.actions,
            feature_configuration = features,
            cc_toolchain = toolchain,
            srcs = srcs,
            public_hdrs = [headers],
            private_hdrs = [ctx.file._wide_constants],
            system_includes = [headers.path],
            compilation_contexts = [ctx.attr._runtime[CcInfo].compilation_context],
            user_compile_flags = flags + VERILATOR_FLAGS + ["-include", ctx.file._wide_constants.path],
        )

    compilation, every_cycle = compile(ctx.label.name, [sources], ["-O3"])
    _, at_start = compile(ctx.label.name + "_once", [once], ["-O0"])
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.merge_compilation_outputs(compilation_outputs = [every_cycle, at_start]),
        linking_contexts = [ctx.attr._runtime[CcInfo].linking_context],
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = depset([sources, once, headers])),
        CcInfo(compilation_context = compilation, linking_context = linking),
    ]

verilated = rule(
    implementation = _verilated_impl,
    doc = "Makes a C++ class of a design with Verilator.",
    attrs = {
        "design": attr.label(
            doc = "A file of Verilog, or a folder with files.f, a list of it for Verilator.",
            allow_single_file = True,
            mandatory = True,
        ),
        "prefix": attr.string(doc = "Name of the class, and of the header.", mandatory = True),
        "top": attr.string(doc = "The outermost module.", mandatory = True),
        "_files": attr.label(default = "@debian_verilator//:root"),
        "_runtime": attr.label(default = "//third_party/verilator:runtime", providers = [CcInfo]),
        "_verilate": attr.label(default = "//third_party/verilator:verilate", executable = True, cfg = "exec"),
        "_wide_constants": attr.label(default = "//third_party/verilator:wide_constants.h", allow_single_file = True),
        "_verilator": attr.label(default = "@debian_verilator//:root/usr/bin/verilator_bin", allow_single_file = True),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = use_cpp_toolchain(),
)
