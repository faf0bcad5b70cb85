"""bm_export: `bazel run` writes a bm_library into a folder that other build systems can use."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmLibraryInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")

# What the folder needs of what bmc writes, besides the header; kernels.bin or kernels.elf comes with it.
_MODEL_FILES = ["plan.c", "kernels.S", "weights.S", "weights.bin"]

_KERNELS = {"loaded": "kernels.elf", "prelinked": "kernels.bin"}

def _model_files(ctx, model):
    """Returns a dict from each place of a model below `src` to its File.

    They are links under the name of the export: for another ISA a model's files have the same paths, and a
    program may need both.
    """
    names = _MODEL_FILES + [_KERNELS[model.kernels]]
    places = {model.c_name + ".h": model.files["model.h"]} | {
        "{}/{}".format(model.c_name, name): model.files[name]
        for name in names
    }
    links = {}
    for place, file in places.items():
        links[place] = ctx.actions.declare_file("{}.files/{}".format(ctx.label.name, place))
        ctx.actions.symlink(output = links[place], target_file = file)
    return links

def _flags(xlen):
    """Returns compiler options for C beside the kernels: those of the project's own firmware."""
    toolchain = {32: "rv32imac", 64: "rv64gc"}[xlen]
    about = ISAS[toolchain]
    return "-march={} -mabi={} -mcmodel=medany".format(about["march"], about["abi"])

def _place(file):
    """Returns the path of a file in its repository, wherever that is."""
    return file.short_path.removeprefix("../{}/".format(file.owner.workspace_name))

def _bm_export_impl(ctx):
    library = ctx.attr.library[BmLibraryInfo]
    about = ISAS[library.isa]
    if not library.isa.startswith("rv"):
        fail("{}: isa = \"{}\" is not RISC-V: exports are for targets without an operating system".format(
            ctx.label,
            library.isa,
        ))
    files = {_place(file): file for file in library.runtime.to_list()}
    for model in library.models:
        files |= _model_files(ctx, model)
    kit = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(kit, json.encode_indent({
        "files": {place: file.short_path for place, file in files.items()},
        "flags": _flags(about["xlen"]),
        "isa": library.isa,
        "license": ctx.file._license.short_path,
        "memory": ctx.file._memory.short_path,
        "models": {model.c_name: model.kernels for model in library.models},
        "name": library.models[0].c_name,
        "plan_bits": about["plan_bits"],
        "vlen_bits": about["vlen_bits"],
    }))
    files = [kit, ctx.file._license, ctx.file._memory] + files.values()
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._export, ["--kit", kit], files))]

bm_export = rule(
    implementation = _bm_export_impl,
    doc = """`bazel run` writes a library into a folder: headers, sources, and files for CMake, make, Zephyr
    and Arduino.

    The argument after `--` is the folder.""",
    attrs = {
        "library": attr.label(mandatory = True, providers = [BmLibraryInfo]),
        "_export": attr.label(default = "//tools/export", executable = True, cfg = "exec"),
        "_license": attr.label(default = "//:LICENSE", allow_single_file = True),
        "_memory": attr.label(default = "//runtime_bm/crt:memory.c", allow_single_file = True),
    },
    executable = True,
)
