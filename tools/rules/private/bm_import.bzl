"""bm_import: runs a frontend; its output is the same for every ISA, so it is done once."""

load("//tools/rules:providers.bzl", "BmImportInfo")

def _bm_import_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add("import")
    args.add(ctx.file.src.path + (":" + ctx.attr.factory if ctx.attr.factory else ""))
    if ctx.file.cases:
        args.add("--cases", "{}:{}".format(ctx.file.cases.path, ctx.attr.cases_function))
    args.add_all("--out", [directory], expand_directories = False)
    inputs = [ctx.file.src] + ([ctx.file.cases] if ctx.file.cases else []) + ctx.files.data
    ctx.actions.run(
        mnemonic = "BmImport",
        progress_message = "Importing %{label}",
        executable = ctx.executable.importer,
        arguments = [args],
        inputs = inputs,
        outputs = [directory],
        # Frameworks look for a home and for model hubs; nothing may depend on either.
        env = {"HF_HUB_OFFLINE": "1", "HOME": "/nonexistent", "PYTHONHASHSEED": "0"},
    )
    return [
        DefaultInfo(files = depset([directory])),
        BmImportInfo(directory = directory, sources = depset(inputs)),
    ]

bm_import = rule(
    implementation = _bm_import_impl,
    doc = "Imports a model from its framework and stores the framework's own answers.",
    attrs = {
        "cases": attr.label(doc = "Python file with inputs and expected outputs.", allow_single_file = [".py"]),
        "cases_function": attr.string(doc = "Function in `cases`."),
        "data": attr.label_list(doc = "What the source reads.", allow_files = True),
        "factory": attr.string(doc = "Function in `src` that returns the ModelSpec."),
        "importer": attr.label(
            doc = "bmc with the frontend's framework.",
            executable = True,
            cfg = "exec",
            mandatory = True,
        ),
        "src": attr.label(doc = "Model source.", allow_single_file = True, mandatory = True),
    },
    provides = [BmImportInfo],
)
