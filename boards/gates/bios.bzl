"""litex_bios: LiteX's BIOS for a system, whose ROM it fills."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")

# In the order in which headers are looked for.
_INCLUDES = [
    "",
    "/newlib/libc/tinystdio",
    "/newlib/libc/include",
    "/software/libbase",
    "/software/include",
    "/software",
    "/cpu",
]

# The code is others'. Without the date, and without the sum of itself, which would have to be written into the image.
_FLAGS = ["-std=gnu11", "-fno-builtin", "-w", "-DCONFIG_BIOS_NO_BUILD_TIME", "-DCONFIG_BIOS_NO_CRC"]

def _to_platform_impl(_settings, attr):
    return {"//command_line_option:platforms": str(attr.platform)}

_to_platform = transition(
    implementation = _to_platform_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _litex_bios_impl(ctx):
    sources = ctx.actions.declare_directory(ctx.label.name + ".sources")
    included = ctx.actions.declare_directory(ctx.label.name + ".included")
    script = ctx.actions.declare_file(ctx.label.name + ".ld")
    args = ctx.actions.args()
    args.add("--cpu", ctx.attr.cpu)
    args.add_all([sources], before_each = "--out", expand_directories = False)
    args.add_all([included], before_each = "--included", expand_directories = False)
    args.add("--linker-script", script)
    ctx.actions.run(
        mnemonic = "LitexBiosSources",
        executable = ctx.executable._collect,
        arguments = [args],
        outputs = [sources, included, script],
    )
    (software,) = ctx.attr.soc[OutputGroupInfo].software.to_list()
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    _, compiled = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [sources],
        private_hdrs = [sources, included, software],
        includes = [sources.path + folder for folder in _INCLUDES] + [included.path, software.path],
        user_compile_flags = _FLAGS,
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = compiled,
        # Nothing calls the commands by name.
        alwayslink = True,
        disallow_dynamic_library = True,
    )
    linked = cc_common.link(
        name = ctx.label.name + ".elf",
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        linking_contexts = [linking],
        user_link_flags = ["-L" + software.path, "-T", script.path],
        additional_inputs = [software, script],
    )
    return [DefaultInfo(files = depset([linked.executable]))]

litex_bios = rule(
    implementation = _litex_bios_impl,
    doc = "LiteX's BIOS, which loads firmware over the serial line, as an ELF for a system's ROM.",
    attrs = {
        "cpu": attr.string(doc = "CPU, as LiteX names it.", mandatory = True),
        "platform": attr.label(doc = "Platform that the BIOS is compiled for.", mandatory = True),
        "soc": attr.label(doc = "litex_soc.", mandatory = True),
        "_collect": attr.label(default = "//boards/gates:bios_sources", executable = True, cfg = "exec"),
    },
    cfg = _to_platform,
    fragments = ["cpp"],
    toolchains = use_cpp_toolchain(),
)
