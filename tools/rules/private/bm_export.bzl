"""bm_export: `bazel run` writes a bm_library into a folder that other build systems can use."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//tools/rules:providers.bzl", "BmLibraryInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")
load("//tools/rules/private:model_c.bzl", "file_name")

def _folder(ctx, model):
    """Makes a folder with what bmc wrote for a model; returns its files.

    They are links under the name of the export: for another ISA a model's files have the same paths, and a
    program may need both.
    """
    links = []
    for name, file in model.files.items():
        link = ctx.actions.declare_file("/".join([
            ctx.label.name + ".files",
            model.c_name,
            file_name(model.c_name, name),
        ]))
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
    return links

def _bm_export_impl(ctx):
    library = ctx.attr.library[BmLibraryInfo]
    if not library.isa.startswith("rv"):
        fail("{}: isa = \"{}\" is not RISC-V: exports are for targets without an operating system".format(
            ctx.label,
            library.isa,
        ))
    for model in library.models:
        if model.libraries:
            fail(("{}: {} calls kernel libraries, which an export cannot carry: export a model without `kernels`, such " +
                  "as its `.plain` one").format(ctx.label, model.c_name))
    args, files = [], []
    for model in library.models:
        folder = _folder(ctx, model)
        files += folder
        args += ["--model", paths.dirname(folder[0].short_path)]
        if model.kernels == "loaded":
            args += ["--loaded", model.c_name]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._export, args, files))]

bm_export = rule(
    implementation = _bm_export_impl,
    doc = """`bazel run` writes a library into a folder: headers, sources, and files for CMake, make, Zephyr
    and Arduino.

    The argument after `--` is the folder.""",
    attrs = {
        "library": attr.label(mandatory = True, providers = [BmLibraryInfo]),
        "_export": attr.label(default = "//tools/export", executable = True, cfg = "exec"),
    },
    executable = True,
)
