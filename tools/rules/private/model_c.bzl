"""The part that bm_model and bm_mutated_model share: bmc's output as a C library."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmModelInfo")

# The files that bmc writes.
MODEL_FILES = [
    "golden.S",
    "golden.bin",
    "golden.c",
    "kernels.S",
    "kernels.bin",
    "kernels.elf",
    "plan.c",
    "plan.h",
    "report.json",
    "weights.S",
    "weights.bin",
]

MODEL_ATTRS = {
    "kernels": attr.string(
        doc = """How the image carries kernels: `prelinked` runs them in place, `loaded` has the
        runtime load their ELF into RAM when it starts.""",
        default = "prelinked",
        values = ["loaded", "prelinked"],
    ),
    "_bmc": attr.label(default = "//compiler:bmc_tool", executable = True, cfg = "exec"),
    "_runtime": attr.label(default = "//runtime_bm"),
}

MODEL_RULE = {
    "fragments": ["cpp"],
    "provides": [BmModelInfo, CcInfo],
    "toolchains": use_cpp_toolchain(),
}

# Frameworks and compilers look for a home folder; nothing may depend on one.
BMC_ENV = {"HOME": "/nonexistent", "PYTHONHASHSEED": "0"}

def _compile_c(ctx, isa, files, stamp):
    """Compiles bmc's output and returns its CcInfo; nothing links it without the stamp."""
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [files[n] for n in ("plan.c", "kernels.S", "weights.S", "golden.c", "golden.S")],
        public_hdrs = [files["plan.h"]],
        additional_inputs = [files[n] for n in ("kernels.bin", "kernels.elf", "weights.bin", "golden.bin")],
        local_defines = ["BM_KERNELS_LOADED"] if ctx.attr.kernels == "loaded" else [],
        user_compile_flags = [
            "-Wa,-I" + files[n].dirname
            for n in ("weights.bin", "kernels.bin")
        ],
        compilation_contexts = [ctx.attr._runtime[CcInfo].compilation_context],
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        additional_inputs = [stamp],
        disallow_dynamic_library = True,
        # Prelinked kernels have absolute addresses in read-only code, so the program that carries
        # them is linked at a fixed address.
        user_link_flags = ["-no-pie"] if isa == "x86_64" else [],
    )
    return CcInfo(compilation_context = context, linking_context = linking)

def model_providers(ctx, isa, c_name, plan_h, files, stamp):
    """Compiles bmc's output.

    Args:
      ctx: context of a rule with MODEL_ATTRS.
      isa: ISA that the kernels are compiled for.
      c_name: prefix of the C symbols.
      plan_h: header that C code includes to use the model.
      files: dict from each of MODEL_FILES to its File.
      stamp: File that exists only if the target would accept the model.

    Returns:
      list of providers.
    """
    cc_info = _compile_c(ctx, isa, files, stamp)
    return [
        DefaultInfo(files = depset(files.values() + [stamp])),
        cc_info,
        BmModelInfo(
            isa = isa,
            c_name = c_name,
            plan_h = plan_h,
            files = files,
            fits = stamp,
            kernels = ctx.attr.kernels,
            report = files["report.json"],
            cc_info = cc_info,
        ),
    ]
