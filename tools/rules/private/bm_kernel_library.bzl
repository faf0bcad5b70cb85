"""bm_kernel_library: functions that take the place of a model's kernels."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmKernelLibraryInfo")
load("//tools/rules/private:llvm.bzl", "LLVM_ATTRS", "llvm_files", "llvm_program")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

# Firmware C has no vectors, but kernels run after the check that the hart has them.
_COPTS = ["-O2"]

# Below it is what every image and every export has.
_RUNTIME = Label("//runtime_bm:bm")

def include_path(file):
    """Returns how C includes a header, also one of another repository.

    Args:
      file: File.

    Returns:
      string.
    """
    root = file.owner.workspace_root
    return file.path[len(root) + 1:] if root and file.is_source else file.short_path

def _archives(ctx):
    """Returns the labels of what the code needs beside its own sources and the runtime."""
    owners = [each.owner for each in ctx.attr.code[CcInfo].linking_context.linker_inputs.to_list() if each.libraries]
    return [
        str(owner).lstrip("@")
        for owner in owners
        if owner != ctx.attr.code.label and not (
            owner.workspace_name == _RUNTIME.workspace_name and owner.package.startswith(_RUNTIME.package + "/")
        )
    ]

def _bm_kernel_library_impl(ctx):
    return [
        DefaultInfo(files = depset([ctx.file.matcher])),
        ctx.attr.code[CcInfo],
        BmKernelLibraryInfo(
            archives = _archives(ctx),
            cc_info = ctx.attr.code[CcInfo],
            copts = ctx.attr.copts,
            devices = ctx.attr.devices,
            extensions = ctx.attr.extensions,
            header = include_path(ctx.file.header),
            matcher = ctx.file.matcher,
            name = str(ctx.label).lstrip("@"),
            sources = ctx.files.srcs,
        ),
    ]

_bm_kernel_library = rule(
    implementation = _bm_kernel_library_impl,
    attrs = {
        "code": attr.label(
            doc = "cc_library that defines the functions.",
            mandatory = True,
            providers = [CcInfo],
        ),
        "copts": attr.string_list(doc = "More compiler options for the code."),
        "devices": attr.string_list(doc = "Devices that the code needs, by the names that boards give them."),
        "extensions": attr.string_list(doc = "RISC-V extensions that the code needs."),
        "header": attr.label(
            doc = "What C includes to call them.",
            allow_single_file = [".h"],
            mandatory = True,
        ),
        "matcher": attr.label(
            doc = "Python file with `take(dispatch)`.",
            allow_single_file = [".py"],
            mandatory = True,
        ),
        "srcs": attr.label_list(doc = "Sources of the code.", allow_files = True),
    },
    provides = [BmKernelLibraryInfo, CcInfo],
)

def bm_kernel_library(*, name, matcher, header, srcs = [], hdrs = [], deps = [], copts = [], extensions = [], devices = [], **kwargs):
    """Functions in C, C++ or assembly that take the place of kernels, and the matcher that says of which.

    docs/how-to/own-kernels.md is a tutorial, and describes what a matcher is told and what it answers.

    Args:
      name: target name.
      matcher: Python file with a function `take(dispatch)`, which bmc asks about every product of a model.
      header: declares each function `f` with its `f_params_t`.
      srcs: C, C++ and assembly. They are compiled for the ISA of the model, with vectors if it has them.
      hdrs: more headers.
      deps: cc_library and cc_import targets, such as a vendor's archive.
      copts: more compiler options.
      extensions: RISC-V extensions that the code needs, as in -march, such as `v` or `zvl256b`. A model for an
        ISA without them does not build. The host build of such a model is without the library.
      devices: devices that the code drives, by the names that boards give them in `devices`. An image for a board
        without them does not build. C that drives `x` declares `extern const uintptr_t bm_device_x;`, its address, and
        defines `bm_device_use_t bm_device_x_use(void)` for profiles (runtime_bm/base/device.h).
      **kwargs: attributes of every rule, e.g. visibility.
    """
    tags = kwargs.pop("tags", []) + ["manual"]
    cc_library(
        name = name + "._code",
        srcs = srcs,
        hdrs = [header] + hdrs,
        copts = _COPTS + copts + select({
            Label("//tools/rules:isa_is_" + isa): ["-march=" + about["march"]]
            for isa, about in ISAS.items()
        }),
        tags = tags,
        deps = deps,
        **dict(kwargs, visibility = ["//visibility:private"])
    )
    _bm_kernel_library(
        name = name,
        code = name + "._code",
        copts = copts,
        devices = devices,
        extensions = extensions,
        header = header,
        matcher = matcher,
        srcs = srcs,
        tags = tags,
        **kwargs
    )

LIBRARY_ATTRS = LLVM_ATTRS | {
    "_functions": attr.label(default = "//tools/report/kernel_libraries:functions", executable = True, cfg = tool_transition),
}

def check_functions(ctx, libraries, report):
    """Checks that kernel libraries define what a model calls.

    Args:
      ctx: context of a rule with LIBRARY_ATTRS.
      libraries: list of BmKernelLibraryInfo.
      report: File, the compiler's.

    Returns:
      list of File: a stamp without which the calls are not compiled; empty if there are no libraries.
    """
    if not libraries:
        return []
    archives = [
        library.static_library or library.pic_static_library
        for kernel_library in libraries
        for linker_input in kernel_library.cc_info.linking_context.linker_inputs.to_list()
        for library in linker_input.libraries
    ]
    stamp = ctx.actions.declare_file(ctx.label.name + ".functions")
    args = ctx.actions.args()
    args.add("--model", "//{}:{}".format(ctx.label.package, ctx.label.name))
    args.add("--report", report)
    args.add("--nm", llvm_program(ctx, "nm"))
    args.add_all(archives, before_each = "--archive")
    args.add("--out", stamp)
    run_tool(
        ctx,
        mnemonic = "BmFunctions",
        tool = ctx.executable._functions,
        arguments = args,
        inputs = [report] + archives,
        tools = llvm_files(ctx),
        outputs = [stamp],
    )
    return [stamp]

def _has(isa, extension):
    """Whether a RISC-V ISA of isas.bzl has an extension."""
    base, _, long_names = ISAS[isa]["march"].partition("_")
    if extension.startswith("zvl"):
        return ISAS[isa]["vlen_bits"] >= int(extension[3:].rstrip("b"))
    names = long_names.split("_") + ISAS[isa].get("unnamed", [])
    return extension in names or (len(extension) == 1 and extension in base[4:])

def kernel_libraries(label, targets, isa):
    """Returns the kernel libraries of a model that an ISA can have; fails if a RISC-V ISA lacks an extension.

    Args:
      label: of the model.
      targets: list of targets with BmKernelLibraryInfo.
      isa: string.

    Returns:
      list of BmKernelLibraryInfo.
    """
    libraries = [target[BmKernelLibraryInfo] for target in targets]
    if not isa.startswith("rv"):
        return [library for library in libraries if not library.extensions + library.devices]
    for library in libraries:
        missing = [extension for extension in library.extensions if not _has(isa, extension)]
        if missing:
            fail(("{}: kernel library {} needs {}, which {} does not have: build the model for another ISA, or " +
                  "leave the library out of its `kernels`").format(label, library.name, ", ".join(missing), isa))
    return libraries
