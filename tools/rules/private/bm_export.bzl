"""bm_export: `bazel run` writes a bm_library into a folder that other build systems can use."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//tools/rules:providers.bzl", "BmLibraryInfo")
load("//tools/rules/private:bm_kernel_library.bzl", "include_path")
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

def _kernel_libraries(ctx, models):
    """Returns the arguments and files of the kernel libraries that models call, each once."""
    libraries = {library.name: library for model in models for library in model.libraries}
    described, files = [], []
    for library in libraries.values():
        if library.archives:
            fail(("{}: kernel library {} needs {}, and an export carries sources only: name these in its `srcs`, or " +
                  "export a model without it, such as a `.plain` one").format(
                ctx.label,
                library.name,
                ", ".join(library.archives),
            ))
        headers = library.cc_info.compilation_context.headers.to_list()
        files += library.sources + headers
        described.append({
            "devices": library.devices,
            "headers": {include_path(file): file.short_path for file in headers},
            "options": library.copts,
            "sources": {include_path(file): file.short_path for file in library.sources},
        })
    if not described:
        return [], []
    description = ctx.actions.declare_file(ctx.label.name + ".kernels.json")
    ctx.actions.write(description, json.encode_indent(described))
    return ["--kernels", description], files + [description]

def _bm_export_impl(ctx):
    library = ctx.attr.library[BmLibraryInfo]
    if not library.isa.startswith("rv"):
        fail("{}: isa = \"{}\" is not RISC-V: exports are for targets without an operating system".format(
            ctx.label,
            library.isa,
        ))
    args, files = _kernel_libraries(ctx, library.models)
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
        "_export": attr.label(default = "//tools/actions/export", executable = True, cfg = "exec"),
    },
    executable = True,
)
