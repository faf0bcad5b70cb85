"""Functions that kernels call if their ISA has no such instruction."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules/private:llvm.bzl", "LLVM_ATTRS", "llvm_files", "llvm_program")
load("//tools/rules/private:transitions.bzl", "isa_transition")

# ISA -> archives, in the order in which they are searched.
LIBCALLS = {
    isa: ([Label("//runtime_bm/crt:soft_float")] if about["abi"] == "ilp32" else []) + [Label("//third_party/libgcc:" + isa)]
    for isa, about in ISAS.items()
    if about["xlen"] == 32
}

def _bm_libcalls_impl(ctx):
    outputs = []
    for archive in ctx.files.archives:
        # The name says which one is searched first.
        out = ctx.actions.declare_file("{}/{}_{}".format(ctx.label.name, len(outputs), archive.basename))
        ctx.actions.run(
            mnemonic = "BmLibcalls",
            executable = llvm_program(ctx, "objcopy"),
            # Lines of the source name folders of the build, and are most of the bytes.
            arguments = ["--strip-unneeded", archive.path, out.path],
            inputs = [archive],
            tools = llvm_files(ctx),
            outputs = [out],
        )
        outputs.append(out)
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(outputs))]

_bm_libcalls = rule(
    implementation = _bm_libcalls_impl,
    doc = "The archives of an ISA, without what only debuggers read.",
    attrs = LLVM_ATTRS | {
        "archives": attr.label_list(allow_files = True, mandatory = True),
        "isa": attr.string(mandatory = True),
    },
    cfg = isa_transition,
)

def bm_libcalls(**kwargs):
    """Makes a target for each ISA that needs such functions, called like it: a folder of archives.

    Args:
      **kwargs: attributes of every rule, e.g. visibility.

    Returns:
      list of string, the targets.
    """
    for isa, archives in LIBCALLS.items():
        _bm_libcalls(name = isa, archives = archives, isa = isa, **kwargs)
    return [":" + isa for isa in LIBCALLS]
