"""The part that bm_model and bm_mutated_model share: bmc's output as a C library."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmModelInfo")
load("//tools/rules/private:transitions.bzl", "tool_transition")

# The files that bmc writes; model.h stands for the header, which has the model's own name.
MODEL_FILES = [
    "golden.S",
    "golden.bin",
    "golden.c",
    "kernels.S",
    "kernels.bin",
    "kernels.elf",
    "model.h",
    "plan.c",
    "report.json",
    "weights.S",
    "weights.bin",
]

def file_name(c_name, name):
    """Returns what bmc calls the file that is `name` in MODEL_FILES.

    Args:
      c_name: prefix of the model's C symbols.
      name: string.
    """
    return c_name + ".h" if name == "model.h" else name

MODEL_ATTRS = {
    "_bmc": attr.label(default = "//tools/actions/bmc", executable = True, cfg = tool_transition),
    "_runtime": attr.label(default = "//runtime_bm"),
}

MODEL_RULE = {
    "fragments": ["cpp"],
    "provides": [BmModelInfo, CcInfo],
    "toolchains": use_cpp_toolchain(),
}

# Frameworks and compilers look for a home folder; nothing may depend on one.
BMC_ENV = {"HOME": "/nonexistent", "PYTHONHASHSEED": "0"}

def _toolchain(ctx):
    """Returns the C toolchain and its features."""
    toolchain = find_cpp_toolchain(ctx)
    return toolchain, cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

def _calls_copts(isa):
    """Returns the options for calls of kernel libraries, and for the loops that bmc writes behind their sums.

    They run after the check that the hart has vectors, as kernels do.
    """
    return ["-O3", "-march=" + ISAS[isa]["march"]]

def _compile(ctx, part, files, sources, data, libraries = [], checks = [], copts = [], **kwargs):
    """Compiles `sources`, which read the files `data`; returns a compilation context and its outputs."""
    toolchain, features = _toolchain(ctx)
    return cc_common.compile(
        name = ctx.label.name + part,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [files[name] for name in sources],
        public_hdrs = [files["model.h"]],
        additional_inputs = [files[name] for name in data] + checks,
        user_compile_flags = ["-Wa,-I" + folder for folder in {files[name].dirname: None for name in data}] + copts,
        compilation_contexts = [ctx.attr._runtime[CcInfo].compilation_context] + [
            library.cc_info.compilation_context
            for library in libraries
        ],
        **kwargs
    )

def compile_all_but_weights(ctx, isa, files, kernels, libraries, checks):
    """Compiles bmc's output but for the weights.

    Args:
      ctx: context of a rule with MODEL_ATTRS.
      isa: string, ISA of the kernels.
      files: dict from each of MODEL_FILES to its File.
      kernels: string, as in BmModelInfo.
      libraries: list of BmKernelLibraryInfo, the kernel libraries that plan.c calls.
      checks: list of File, stamps without which nothing is compiled.

    Returns:
      CcCompilationOutputs.
    """
    _, outputs = _compile(
        ctx,
        "",
        files,
        sources = ["plan.c", "kernels.S", "golden.c", "golden.S"],
        data = ["kernels.bin", "kernels.elf", "golden.bin"],
        libraries = libraries,
        checks = checks,
        copts = _calls_copts(isa) if libraries else [],
        local_defines = ["BM_KERNELS_LOADED"] if kernels == "loaded" else [],
    )
    return outputs

def plan_object(outputs):
    """Returns plan.c, compiled.

    Args:
      outputs: what compile_all_but_weights returned.

    Returns:
      File.
    """
    return [
        file
        for file in outputs.objects or outputs.pic_objects
        if file.basename in ("plan.o", "plan.pic.o")
    ][0]

def _link(ctx, isa, files, outputs, checks, libraries):
    """Compiles the weights, and returns CcInfo of everything; nothing links it without the checks."""
    toolchain, features = _toolchain(ctx)
    context, weights = _compile(ctx, "_weights", files, sources = ["weights.S"], data = ["weights.bin"])
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.merge_compilation_outputs(compilation_outputs = [outputs, weights]),
        additional_inputs = checks,
        disallow_dynamic_library = True,
        # Prelinked kernels have absolute addresses in read-only code, so the program that carries
        # them is linked at a fixed address.
        user_link_flags = ["-no-pie"] if isa == "x86_64" else [],
    )
    linking = cc_common.merge_linking_contexts(
        linking_contexts = [linking] + [library.cc_info.linking_context for library in libraries],
    )
    return CcInfo(compilation_context = context, linking_context = linking)

def model_providers(ctx, isa, c_name, header, files, kernels, outputs, stamp, code, libraries):
    """Compiles the weights and packs everything for linking.

    Args:
      ctx: context of a rule with MODEL_ATTRS.
      isa: ISA that the kernels are compiled for.
      c_name: prefix of the C symbols.
      header: header that C code includes to use the model.
      files: dict from each of MODEL_FILES to its File.
      kernels: string, as in BmModelInfo.
      outputs: what compile_all_but_weights returned for the same files, but for the weights.
      stamp: File that exists only if the target would accept the model.
      code: File, what the code of the kernels shows.
      libraries: list of BmKernelLibraryInfo, the kernel libraries that plan.c calls.

    Returns:
      list of providers.
    """
    cc_info = _link(ctx, isa, files, outputs, [stamp, code], libraries)
    return [
        DefaultInfo(files = depset(files.values() + [stamp])),
        cc_info,
        BmModelInfo(
            isa = isa,
            c_name = c_name,
            header = header,
            code = code,
            devices = [device for library in libraries for device in library.devices],
            files = files,
            fits = stamp,
            kernels = kernels,
            libraries = libraries,
            outputs = outputs,
            report = files["report.json"],
            cc_info = cc_info,
        ),
    ]
