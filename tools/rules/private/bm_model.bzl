"""bm_model: a model, compiled for the ISA of whoever links it."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:providers.bzl", "BmImportInfo", "BmModelInfo")
load("//tools/rules/private:bm_import.bzl", "bm_import")

def _bmc_compile(ctx, isa, out):
    """Runs bmc; returns a struct of the files it writes into the folder `out`."""
    names = ["plan.c", "plan.h", "kernels.S", "kernels.bin", "kernels.elf", "weights.S", "weights.bin", "golden.c", "golden.S", "golden.bin", "report.json"]
    files = {name: ctx.actions.declare_file("{}/{}".format(out, name)) for name in names}
    import_info = ctx.attr.imported[BmImportInfo]
    args = ctx.actions.args()
    args.add("compile")
    args.add_all("--import", [import_info.directory], expand_directories = False)
    args.add("--isa", isa)
    args.add("--name", ctx.attr.c_name)
    args.add("--out", files["plan.c"].dirname)
    if ctx.file.tuning:
        args.add("--tuning", ctx.file.tuning)
    if ctx.attr.mutate:
        args.add("--mutate")
    ctx.actions.run(
        mnemonic = "BmCompile",
        progress_message = "Compiling %{label} for " + isa,
        executable = ctx.executable._bmc,
        arguments = [args],
        inputs = [import_info.directory] + ([ctx.file.tuning] if ctx.file.tuning else []),
        outputs = files.values(),
        env = {"HOME": "/nonexistent", "PYTHONHASHSEED": "0"},
    )
    return files

def _compile_c(ctx, files, is_host):
    """Compiles what bmc emitted and returns its CcInfo."""
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    folder = files["plan.c"].dirname
    context, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [files[n] for n in ("plan.c", "kernels.S", "weights.S", "golden.c", "golden.S")],
        public_hdrs = [files["plan.h"]],
        additional_inputs = [files[n] for n in ("kernels.bin", "kernels.elf", "weights.bin", "golden.bin")],
        user_compile_flags = ["-Wa,-I" + folder],
        compilation_contexts = [ctx.attr._runtime[CcInfo].compilation_context],
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        disallow_dynamic_library = True,
        # Prelinked kernels hold absolute addresses in read-only code: the program that carries
        # them is linked at a fixed address.
        user_link_flags = ["-no-pie"] if is_host else [],
    )
    return CcInfo(compilation_context = context, linking_context = linking)

def _bm_model_impl(ctx):
    is_host = ctx.target_platform_has_constraint(
        ctx.attr._x86_64[platform_common.ConstraintValueInfo],
    )
    isa = "x86_64" if is_host else ctx.attr._isa[BuildSettingInfo].value
    files = _bmc_compile(ctx, isa, ctx.label.name)
    cc_info = _compile_c(ctx, files, is_host)
    return [
        DefaultInfo(files = depset(files.values())),
        cc_info,
        BmModelInfo(
            isa = isa,
            c_name = ctx.attr.c_name,
            plan_h = "{}/{}/plan.h".format(ctx.label.package, ctx.label.name),
            report = files["report.json"],
            kernels_elf = files["kernels.elf"],
            cc_info = cc_info,
        ),
    ]

_bm_model = rule(
    implementation = _bm_model_impl,
    doc = """Compiles an imported model and packs it for linking.

    Deps of an ordinary cc_binary may name it: the header of target `name` is `<package>/<name>/plan.h`.""",
    attrs = {
        "c_name": attr.string(doc = "Prefix of the C symbols.", mandatory = True),
        "imported": attr.label(
            doc = "The imported model.",
            cfg = "exec",
            mandatory = True,
            providers = [BmImportInfo],
        ),
        "mutate": attr.bool(doc = "Change one weight: the negative control of every check."),
        "tuning": attr.label(
            doc = "tuning.json: lowering configurations that replace the compiler's own.",
            allow_single_file = [".json"],
        ),
        "_bmc": attr.label(default = "//compiler", executable = True, cfg = "exec"),
        "_isa": attr.label(default = "//tools/rules:isa"),
        "_runtime": attr.label(default = "//runtime_bm"),
        "_x86_64": attr.label(default = "@platforms//cpu:x86_64"),
    },
    fragments = ["cpp"],
    provides = [BmModelInfo, CcInfo],
    toolchains = use_cpp_toolchain(),
)

def bm_model(
        *,
        name,
        src,
        factory = "",
        cases = None,
        cases_function = "",
        tuning = None,
        data = [],
        deps = [],
        **kwargs):
    """A model from its framework, ready to be linked into firmware or an ordinary program.

    Args:
      name: target name; `<name>` with non-word characters replaced is the C prefix.
      src: model source: a Python file with `factory`, or MLIR.
      factory: function in `src` that returns a bmc.spec.ModelSpec.
      cases: Python file with inputs and expected outputs (for MLIR).
      cases_function: function in `cases`.
      tuning: tuning.json beside the model.
      data: files that `src` reads.
      deps: Python libraries that `src` and `cases` import.
      **kwargs: attributes of every rule, e.g. visibility, tags.
    """
    c_name = name.replace("-", "_").replace(".", "_")

    # Built when something links the model, for the ISA it asks for, not by a wildcard for the host.
    tags = kwargs.pop("tags", []) + ["manual"]
    private = dict(kwargs, tags = tags, visibility = ["//visibility:private"])
    py_binary(
        name = name + "._importer",
        srcs = [Label("//compiler:bmc/__main__.py")],
        main = Label("//compiler:bmc/__main__.py"),
        deps = [Label("//compiler:bmc_lib")] + deps,
        **private
    )
    bm_import(
        name = name + "._imported",
        src = src,
        cases = cases,
        cases_function = cases_function,
        data = data,
        factory = factory,
        importer = name + "._importer",
        **private
    )
    _bm_model(
        name = name,
        c_name = c_name,
        imported = name + "._imported",
        tags = tags,
        tuning = tuning,
        **kwargs
    )
    _bm_model(
        name = name + ".mutated",
        c_name = c_name,
        imported = name + "._imported",
        mutate = True,
        tags = tags,
        tuning = tuning,
        **kwargs
    )
