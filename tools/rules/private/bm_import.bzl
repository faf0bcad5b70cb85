"""bm_import: runs a frontend, checks what it imported, and optimizes it. This is the same for every ISA, so it runs once."""

load("//tools/rules:providers.bzl", "BmImportInfo")
load("//tools/rules/private:frontends.bzl", "FRONTENDS", "suffix_of")
load("//tools/rules/private:model_c.bzl", "BMC_ENV")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "tool_transition")

_SAVED_MODEL = "saved_model.pb"

def _path(file):
    return file.path

def _short_path(file):
    return file.short_path

def _source(ctx, path_of):
    """Returns the source argument of `bmc import`: a path, with `:factory` for a Python file.

    Args:
      ctx: the rule's context.
      path_of: function that returns a File's path where bmc runs.
    """
    files = ctx.files.src
    if len(files) > 1:
        roots = [file for file in files if file.basename == _SAVED_MODEL]
        if len(roots) != 1:
            fail("src has {} files: name one file, or the files of one SavedModel folder".format(len(files)))
        files = roots
    if not files:
        fail("src has no files: name a model")
    path = path_of(files[0])
    if files[0].basename == _SAVED_MODEL:
        return path.removesuffix("/" + _SAVED_MODEL)
    suffix = suffix_of(path)
    if suffix not in FRONTENDS or not suffix:
        fail("src '{}' is not a kind of model that bmc knows: it may be {}, or the files of a SavedModel folder".format(
            files[0].basename,
            ", ".join([known for known in FRONTENDS if known]),
        ))
    if (suffix == ".py") != bool(ctx.attr.factory):
        fail("src '{}': set `factory` for a Python file, and for nothing else".format(files[0].basename))
    return path + (":" + ctx.attr.factory if ctx.attr.factory else "")

def _arguments(ctx, path_of):
    """Returns the arguments of `bmc import` but the folder to write."""
    words = ["import", _source(ctx, path_of)]
    if ctx.file.cases:
        words += ["--cases", "{}:{}".format(path_of(ctx.file.cases), ctx.attr.cases_function)]
    if ctx.attr.quantize:
        words += ["--quantize", ctx.attr.quantize]
    for limit, number in ctx.attr.limits.items():
        words += ["--limit", "{}={}".format(limit, number)]
    for name, shape in ctx.attr.shapes.items():
        words += ["--shape", "{}={}".format(name, shape)]
    for name, value in ctx.attr.constants.items():
        words += ["--constant", "{}={}".format(name, value)]
    if ctx.attr.context:
        words += ["--context", str(ctx.attr.context)]
    return words + ["--no-host-check"]

def _host_check(ctx, directory):
    """Compares IREE's host runtime with the framework; returns a file with the result of each case."""
    result = ctx.actions.declare_file(ctx.label.name + ".verified.txt")
    args = ctx.actions.args()
    args.add("verify")
    args.add_all("--import", [directory], expand_directories = False)
    args.add("--out", result)
    run_tool(
        ctx,
        mnemonic = "BmVerify",
        progress_message = "Comparing IREE on this machine with the framework: %{label}",
        tool = ctx.executable._bmc,
        arguments = args,
        inputs = [directory],
        outputs = [result],
        env = BMC_ENV,
        execution_requirements = {"block-network": "1"},
    )
    return result

def _optimize(ctx, directory):
    """Does what compiling for every ISA begins with; returns the folder with the result."""
    optimized = ctx.actions.declare_directory(ctx.label.name + ".optimized")
    args = ctx.actions.args()
    args.add("optimize")
    args.add_all("--import", [directory], expand_directories = False)
    args.add_all("--out", [optimized], expand_directories = False)
    run_tool(
        ctx,
        mnemonic = "BmOptimize",
        progress_message = "Optimizing %{label} for all instruction sets",
        tool = ctx.executable._bmc,
        arguments = args,
        inputs = [directory],
        outputs = [optimized],
        env = BMC_ENV,
        execution_requirements = {"block-network": "1"},
    )
    return optimized

def _bm_import_impl(ctx):
    if bool(ctx.file.cases) != bool(ctx.attr.cases_function):
        fail("set `cases` and `cases_function` together: a Python file and a function in it")
    if ctx.file.cases and ctx.attr.factory:
        fail("leave `cases` out: `factory` returns the cases of a Python file")
    directory = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add_all(_arguments(ctx, _path))
    args.add_all("--out", [directory], expand_directories = False)
    inputs = ctx.files.src + ([ctx.file.cases] if ctx.file.cases else []) + ctx.files.data
    ctx.actions.run(
        mnemonic = "BmImport",
        progress_message = "Importing %{label}: framework, golden data, export",
        executable = ctx.executable.importer,
        arguments = [args],
        inputs = inputs,
        outputs = [directory],
        # Frameworks look for a home folder and model hubs; nothing may depend on either.
        env = {"HF_HUB_OFFLINE": "1", "HOME": "/nonexistent", "PYTHONHASHSEED": "0"},
        # Takes effect where Bazel has a sandbox.
        execution_requirements = {"block-network": "1"},
    )
    return [
        DefaultInfo(files = depset([directory])),
        # A build waits for the check, but nothing in it does.
        OutputGroupInfo(_validation = depset([_host_check(ctx, directory)])),
        BmImportInfo(
            arguments = _arguments(ctx, _short_path),
            directory = directory,
            importer = ctx.attr.importer[DefaultInfo].files_to_run,
            importer_runfiles = ctx.attr.importer[DefaultInfo].default_runfiles,
            optimized = _optimize(ctx, directory),
            sources = depset(inputs),
        ),
    ]

bm_import = rule(
    implementation = _bm_import_impl,
    doc = "Imports a model from its framework and stores the framework's own answers.",
    attrs = {
        "cases": attr.label(doc = "Python file with inputs and expected outputs.", allow_single_file = [".py"]),
        "cases_function": attr.string(doc = "Function in `cases`."),
        "data": attr.label_list(doc = "Files that the source reads.", allow_files = True),
        "_bmc": attr.label(default = "//tools/actions/bmc", executable = True, cfg = tool_transition),
        "factory": attr.string(doc = "Function in `src` that returns the ModelSpec."),
        "importer": attr.label(
            doc = "bmc with the frontend's framework.",
            executable = True,
            cfg = "exec",
            mandatory = True,
        ),
        "limits": attr.string_dict(doc = "What the import of a model file may take: options `--limit` of `bmc import`."),
        "context": attr.int(doc = "How many tokens the language model of a .gguf file remembers; 0: the default."),
        "constants": attr.string_dict(doc = "Inputs of an .onnx file that always have one value."),
        "quantize": attr.string(
            doc = "`int8`, `f16`, `int4`, `int4_int8` or empty.",
            values = ["", "f16", "int4", "int4_int8", "int8"],
        ),
        "shapes": attr.string_dict(doc = "Shapes of inputs, such as `1x512`."),
        "src": attr.label(
            doc = "A model file, or all files of a SavedModel folder.",
            allow_files = True,
            mandatory = True,
        ),
    },
    provides = [BmImportInfo],
)
