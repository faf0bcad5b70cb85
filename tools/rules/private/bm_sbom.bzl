"""bm_sbom: what is in an image, and what it was built with, as a CycloneDX document."""

load("//tools/rules:providers.bzl", "BmFirmwareInfo", "BmImportInfo")
load("//tools/rules/private:transitions.bzl", "import_transition")

def _package(file):
    """Returns the Python package that a file of the import belongs to, or None."""
    if not file.short_path.startswith("../"):
        return None
    _, prefix, name = file.short_path.split("/")[1].rpartition("pypi_")
    return name.replace("_", "-") if prefix else None

def _bm_sbom_impl(ctx):
    firmware = ctx.attr.firmware[BmFirmwareInfo]
    link_map = ctx.attr.firmware[OutputGroupInfo].map.to_list()[0]
    out = ctx.actions.declare_file(ctx.label.name + ".json")
    args = ctx.actions.args()
    args.add("--name", ctx.attr.firmware.label.name)
    args.add("--elf", firmware.elf)
    args.add("--map", link_map)
    args.add("--report", firmware.report)
    args.add("--table", ctx.file._versions)
    args.add("--out", out)
    args.add_all(
        depset(transitive = [model[BmImportInfo].importer_runfiles.files for model in ctx.attr.models]),
        before_each = "--package",
        map_each = _package,
        uniquify = True,
    )
    ctx.actions.run(
        mnemonic = "BmSbom",
        executable = ctx.executable._sbom,
        arguments = [args],
        inputs = [firmware.elf, link_map, firmware.report, ctx.file._versions] + ctx.files._tables,
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

bm_sbom = rule(
    implementation = _bm_sbom_impl,
    doc = "A bill of materials of an image, as CycloneDX JSON.",
    attrs = {
        "firmware": attr.label(doc = "The image.", mandatory = True, providers = [BmFirmwareInfo]),
        "models": attr.label_list(
            doc = "The image's models, as they were imported.",
            cfg = import_transition,
            mandatory = True,
            providers = [BmImportInfo],
        ),
        "_sbom": attr.label(default = "//tools/report/sbom", executable = True, cfg = "exec"),
        "_tables": attr.label_list(
            allow_files = True,
            default = [
                "//third_party/debian:packages.bzl",
                "//third_party/python:requirements_lock.txt",
            ],
        ),
        "_versions": attr.label(allow_single_file = True, default = "//third_party:versions.bzl"),
    },
)
