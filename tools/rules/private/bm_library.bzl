"""bm_library: models and the runtime as a C library, for applications that are linked elsewhere."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmLibraryInfo", "BmModelInfo")
load("//tools/rules/private:c_names.bzl", "check_distinct_names")
load("//tools/rules/private:transitions.bzl", "check_isa", "isa_transition")

def _bm_library_impl(ctx):
    check_isa(ctx.label, ctx.attr.isa)
    check_distinct_names(ctx.label, ctx.attr.models)
    cc_info = cc_common.merge_cc_infos(
        cc_infos = [target[CcInfo] for target in ctx.attr.models + [ctx.attr._runtime]],
    )
    archives = [
        library.static_library or library.pic_static_library
        for linker_input in cc_info.linking_context.linker_inputs.to_list()
        for library in linker_input.libraries
    ]
    return [
        DefaultInfo(files = depset(archives)),
        cc_info,
        BmLibraryInfo(
            isa = ctx.attr.isa,
            models = [target[BmModelInfo] for target in ctx.attr.models],
        ),
    ]

bm_library = rule(
    implementation = _bm_library_impl,
    doc = """Models and the runtime for one ISA, as static libraries.

    A cc_binary for that ISA may name it in deps and provides a HAL; headers are those of the models. A
    bm_export writes it into a folder that builds without Bazel.""",
    attrs = {
        "isa": attr.string(doc = "ISA of the kernels, e.g. rv64gcv_zvl256b.", mandatory = True),
        "models": attr.label_list(
            doc = "bm_model targets.",
            allow_empty = False,
            mandatory = True,
            providers = [BmModelInfo],
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_runtime": attr.label(
            default = "//runtime_bm/model",
            providers = [CcInfo],
        ),
    },
    cfg = isa_transition,
    provides = [BmLibraryInfo, CcInfo],
)
