"""bm_model: a model, compiled for the ISA of the target that links it."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:providers.bzl", "BmImportInfo", "BmKernelLibraryInfo", "BmTunableInfo")
load("//tools/rules/private:accept.bzl", "ACCEPT_ATTRS", "check_accepted")
load("//tools/rules/private:bm_import.bzl", "bm_import")
load("//tools/rules/private:bm_kernel_library.bzl", "LIBRARY_ATTRS", "check_functions", "kernel_libraries")
load("//tools/rules/private:bm_libcalls.bzl", "LIBCALLS")
load("//tools/rules/private:bm_mutated_model.bzl", "bm_mutated_model")
load("//tools/rules/private:c_names.bzl", "c_name_of", "check_c_name")
load("//tools/rules/private:frontends.bzl", "FRONTENDS", "QUANTIZERS", "suffix_of")
load("//tools/rules/private:kernel_code.bzl", "CODE_ATTRS", "audit_code")
load(
    "//tools/rules/private:model_c.bzl",
    "BMC_ENV",
    "MODEL_ATTRS",
    "MODEL_FILES",
    "MODEL_RULE",
    "compile_all_but_weights",
    "file_name",
    "model_providers",
    "plan_object",
)
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "import_transition")

def _bmc_compile(ctx, isa, libraries, out):
    """Runs bmc; returns the files it writes into the folder `out`."""
    files = {name: ctx.actions.declare_file("{}/{}".format(out, file_name(ctx.attr.c_name, name))) for name in MODEL_FILES}
    import_info = ctx.attr.imported[0][BmImportInfo]
    args = ctx.actions.args()
    args.add("compile")
    args.add_all("--import", [import_info.directory], expand_directories = False)
    args.add_all("--optimized", [import_info.optimized], expand_directories = False)
    args.add("--isa", isa)
    harts = ctx.attr._harts[BuildSettingInfo].value
    if harts > 1:
        args.add("--harts", harts)
    if ctx.attr.core:
        args.add("--core", ctx.attr.core)
    args.add("--name", ctx.attr.c_name)
    args.add("--out", files["plan.c"].dirname)
    if ctx.attr.first_cases:
        args.add("--first-cases", ctx.attr.first_cases)
    if ctx.attr.ram:
        args.add("--ram", ctx.attr.ram)
    if ctx.file.memories:
        args.add("--memories", ctx.file.memories)
    if ctx.attr.fast_ram:
        args.add("--fast-ram", ctx.attr.fast_ram)
    if ctx.attr.stored_weights:
        args.add("--stored-weights", ctx.attr.stored_weights)
    if ctx.file.tuning:
        args.add("--tuning", ctx.file.tuning)
    for part, reason in ctx.attr.float_parts.items():
        args.add("--float-part", "{}={}".format(part, reason))
    args.add_all(ctx.files.libcalls, before_each = "--libcalls")
    for library in libraries:
        args.add_all("--kernel-library", [library.name, library.header, library.matcher])
    run_tool(
        ctx,
        mnemonic = "BmCompile",
        progress_message = "Compiling %{label} for " + isa,
        tool = ctx.executable._bmc,
        arguments = args,
        inputs = [import_info.directory, import_info.optimized] + ctx.files.libcalls +
                 [library.matcher for library in libraries] + [file for file in [ctx.file.tuning, ctx.file.memories] if file],
        outputs = files.values(),
        env = BMC_ENV,
        execution_requirements = {"block-network": "1"},
    )
    return files

def _bm_model_impl(ctx):
    check_c_name(ctx.attr.c_name)
    is_host = ctx.target_platform_has_constraint(
        ctx.attr._x86_64[platform_common.ConstraintValueInfo],
    )
    isa = "x86_64" if is_host else ctx.attr._isa[BuildSettingInfo].value
    libraries = kernel_libraries(ctx.label, ctx.attr.kernels, isa)
    files = _bmc_compile(ctx, isa, libraries, ctx.label.name)
    header = "{}/{}/{}.h".format(ctx.label.package, ctx.label.name, ctx.attr.c_name)
    kernels = "loaded" if ctx.attr.load_kernels else "prelinked"
    defined = check_functions(ctx, libraries, files["report.json"])
    outputs = compile_all_but_weights(ctx, isa, files, kernels, libraries, defined)
    stamp = check_accepted(ctx, ctx.attr.c_name, files, plan_object(outputs))
    providers = model_providers(
        ctx,
        isa,
        ctx.attr.c_name,
        header,
        files,
        kernels,
        outputs,
        stamp,
        audit_code(ctx, files),
        libraries,
    )
    import_info = ctx.attr.imported[0][BmImportInfo]
    return providers + [import_info, BmTunableInfo(
        float_parts = ctx.attr.float_parts,
        imported = import_info.directory,
        optimized = import_info.optimized,
        core = ctx.attr.core,
        ram = ctx.attr.ram,
        stored_weights = ctx.attr.stored_weights,
        tuning = ctx.file.tuning,
    )]

_bm_model = rule(
    implementation = _bm_model_impl,
    doc = """Compiles an imported model and packs it for linking.

    An ordinary cc_binary may name it in deps: the header of target `name` is
    `<package>/<name>/<c_name>.h`.""",
    attrs = MODEL_ATTRS | ACCEPT_ATTRS | CODE_ATTRS | LIBRARY_ATTRS | {
        "c_name": attr.string(doc = "Prefix of the C symbols.", mandatory = True),
        "core": attr.string(doc = "The core whose cycles decide between kernels; empty: a blend of cores."),
        "fast_ram": attr.int(doc = "Bytes of fast memory that the model may use; 0: a memory of the board for nothing else."),
        "first_cases": attr.int(doc = "On how many cases the target is checked; 0: on all."),
        "float_parts": attr.string_dict(
            doc = "Dispatches and weights of an int8 model that stay in floating point, or of an f16 model in f32, and why.",
        ),
        "imported": attr.label(
            doc = "The imported model.",
            cfg = import_transition,
            mandatory = True,
            providers = [BmImportInfo],
        ),
        "kernels": attr.label_list(
            doc = "Kernel libraries; the first one that wants a dispatch computes it.",
            providers = [BmKernelLibraryInfo],
        ),
        "libcalls": attr.label_list(doc = "Archives to link to the kernels."),
        "load_kernels": attr.bool(
            doc = "Whether the runtime loads the kernels' ELF into RAM when it starts, instead of running them in place.",
        ),
        "memories": attr.label(
            doc = "board.json of a board that says what its memories cost.",
            allow_single_file = [".json"],
        ),
        "ram": attr.int(doc = "Bytes of RAM that the model may need; 0: any."),
        "stored_weights": attr.string(
            doc = "`f16` to store weights so that f16 holds exactly; empty to store them as they are.",
            values = ["", "f16"],
        ),
        "tuning": attr.label(
            doc = "tuning.json: what replaces the compiler's own choices for kernels.",
            allow_single_file = [".json"],
        ),
        "_harts": attr.label(default = "//runtime_bm/harts:count"),
        "_isa": attr.label(default = "//tools/rules:isa"),
        "_x86_64": attr.label(default = "@platforms//cpu:x86_64"),
    },
    **MODEL_RULE
)

def bm_model(
        *,
        name,
        src,
        factory = "",
        cases = None,
        cases_function = "",
        quantize = "",
        tuning = None,
        kernels = [],
        load_kernels = False,
        scalar_kernels = None,
        float_parts = {},
        stored_weights = "",
        core = "",
        ram = 0,
        memories = None,
        fast_ram = 0,
        limits = {},
        shapes = {},
        constants = {},
        context = 0,
        data = [],
        deps = [],
        **kwargs):
    """A model from its framework, ready to be linked into firmware or an ordinary program.

    Args:
      name: target name: lower-case letters, digits, - . and _. With _ for the other marks it is the C
        prefix.
      src: the model: a Python file with `factory`; a .gguf, .keras, .mlir, .mlirbc, .onnx, .pt2 or
        .tflite file; or a filegroup of the files of a SavedModel folder. The suffix of a file determines the
        framework that is added to import it.
      factory: function in `src` that returns a bmc.spec.ModelSpec.
      cases: Python file with inputs for a model that is a file.
      cases_function: function in `cases` that returns bmc.spec.Cases.
      quantize: `int8` quantizes the model with its own framework, on its calibration data; `f16` makes the target
        compute in f16, which needs an ISA with Zvfh (docs/how-to/f16.md); `int4` gives linear layers of PyTorch weights of 4
        bits, and `int4_int8` rounds their inputs to bytes as well (docs/how-to/quantize.md).
      tuning: tuning.json next to the model.
      kernels: list of bm_kernel_library; the first one that wants a dispatch computes it. `<name>.plain` is the same
        model without them.
      load_kernels: whether the runtime copies the kernels to RAM when it starts, instead of running them in place.
      scalar_kernels: list of the kernels that are known not to be vectorized (tools/report/bench/audit.py); any
        other fails the build, which otherwise only names it.
      float_parts: for an int8 model, op signatures of dispatches and names of weights that stay in
        floating point, each with the reason. Anything else in floating point fails the build. For an f16 model, op
        signatures of dispatches that multiply in f32.
      stored_weights: `f16` stores weights so that f16 holds exactly, as those of a file that has them in f16. Products
        extend them to f32 as they read them, which needs an ISA with Zvfh (docs/how-to/f16.md).
      core: the core whose cycles decide between kernels, a file of compiler/bmc/cores without its suffix, such as `x60`.
        Without it, a blend of cores decides, among kernels with few instructions.
      ram: how many bytes of RAM the model may need for tensors, state, and its kernels' scratch memory. It fits, or the
        build fails and names the least number that was found (docs/how-to/fit-into-ram.md). 0: any.
      memories: board.json of a board that says what its memories cost, such as `//boards/mine:board.json`. Tensors, and
        weights that kernels read many times, then go into its fast memory (docs/how-to/fit-into-ram.md).
      fast_ram: how many bytes of fast memory the model may use, which `ram` does not count. 0: the memory of that board
        that holds nothing else.
      limits: what the import of a model file may take, where that is not the default of `bmc import --limit`:
        `cpu_seconds`, `idle_seconds`, `memory_gib`, `nodes`, `tensor_bytes` or `trips`, each with a number as a string.
      shapes: of a model file, the shapes of inputs with dynamic dimensions, by name: `{"audio": [1, 512]}`.
      constants: of an .onnx file, inputs that always have one value, by name: `{"sr": 16000}`.
      context: of a .gguf file, how many tokens the language model remembers; 0: 512, or fewer if the model was made for
        fewer (docs/how-to/language-model.md).
      data: files that `src` reads, e.g. the external data of an .onnx file.
      deps: Python libraries that `src` and `cases` import, and for a Python file the packages of its framework: torch and
        torch-mlir (for int8 also torchao), or keras and tensorflow (for int8 also ai-edge-litert and
        tosa-converter-for-tflite), or jax, each as `requirement("torch")`.
      **kwargs: attributes of every rule, e.g. visibility, tags.
    """
    suffix = suffix_of(src)
    packages = FRONTENDS.get(suffix, []) + (QUANTIZERS.get(suffix, []) if quantize == "int8" else [])
    frameworks = [package for package in packages if package not in deps]

    # Built only when something links the model, for that target's ISA, and not by a wildcard for the host.
    tags = kwargs.pop("tags", []) + ["manual"]
    private = dict(kwargs, tags = tags, visibility = ["//visibility:private"])
    imported = name + "._imported"
    py_binary(
        name = name + "._importer",
        srcs = [Label("//compiler/bmc/frontends:__main__.py")],
        main = Label("//compiler/bmc/frontends:__main__.py"),
        deps = [Label("//compiler:importing")] + frameworks + deps,
        **private
    )
    bm_import(
        name = imported,
        src = src,
        cases = cases,
        cases_function = cases_function,
        data = data,
        factory = factory,
        importer = name + "._importer",
        constants = {input: str(value) for input, value in constants.items()},
        context = context,
        limits = limits,
        shapes = {input: "x".join([str(size) for size in shape]) for input, shape in shapes.items()},
        quantize = quantize,
        tags = tags,
        **kwargs
    )
    _compiled(
        name = name,
        float_parts = float_parts,
        imported = imported,
        kernels = kernels,
        load_kernels = load_kernels,
        scalar_kernels = scalar_kernels,
        stored_weights = stored_weights,
        core = core,
        ram = ram,
        memories = memories,
        fast_ram = fast_ram,
        tags = tags,
        tuning = tuning,
        **kwargs
    )

def bm_model_variant(
        *,
        name,
        model,
        kernels = [],
        first_cases = 0,
        load_kernels = False,
        tuning = None,
        float_parts = {},
        scalar_kernels = None,
        stored_weights = "",
        core = "",
        ram = 0,
        memories = None,
        fast_ram = 0,
        **kwargs):
    """A model that has been imported already, compiled in another way, or to be checked on fewer cases.

    Args:
      name: as in bm_model.
      model: label of a bm_model.
      kernels: as in bm_model.
      first_cases: on how many of the model's cases the target is checked, for targets that are slow or small; 0: on all.
      load_kernels: as in bm_model.
      tuning: as in bm_model.
      float_parts: as in bm_model; those of `model` are to be repeated.
      scalar_kernels: as in bm_model.
      stored_weights: as in bm_model.
      core: as in bm_model.
      ram: as in bm_model.
      memories: as in bm_model.
      fast_ram: as in bm_model.
      **kwargs: attributes of every rule, e.g. visibility.
    """
    label = native.package_relative_label(model)
    _compiled(
        name = name,
        first_cases = first_cases,
        float_parts = float_parts,
        imported = label.same_package_label(label.name + "._imported"),
        kernels = kernels,
        load_kernels = load_kernels,
        scalar_kernels = scalar_kernels,
        stored_weights = stored_weights,
        core = core,
        ram = ram,
        memories = memories,
        fast_ram = fast_ram,
        tags = kwargs.pop("tags", []) + ["manual"],
        tuning = tuning,
        **kwargs
    )

def _compiled(*, name, kernels, tags, **kwargs):
    """Makes the model, its negative control, and `.plain`, the same without kernel libraries."""
    c_name = c_name_of(name)
    variants = {name: (c_name, kernels)}
    if kernels:
        variants[name + ".plain"] = (c_name + "_plain", [])
    else:
        native.alias(
            name = name + ".plain",
            actual = name,
            tags = tags,
            visibility = kwargs.get("visibility"),
        )
    for variant, (prefix, libraries) in variants.items():
        _bm_model(
            name = variant,
            c_name = prefix,
            kernels = libraries,
            libcalls = select({
                Label("//tools/rules:isa_is_" + isa): archives
                for isa, archives in LIBCALLS.items()
            } | {"//conditions:default": []}),
            tags = tags,
            **kwargs
        )
    for compiled_only in [
        "core",
        "fast_ram",
        "first_cases",
        "float_parts",
        "imported",
        "load_kernels",
        "memories",
        "ram",
        "scalar_kernels",
        "stored_weights",
        "tuning",
    ]:
        kwargs.pop(compiled_only, None)
    bm_mutated_model(
        name = name + ".mutated",
        model = name,
        tags = tags,
        **kwargs
    )
