"""outside_model: a model that others wrote, in an image that is built by name only."""

load("//models:zoo.bzl", "LARGE")
load("//tools/rules:defs.bzl", "bm_model", "bm_model_suite")

def outside_model(*, name, src, deps):
    """Makes `<name>` (bm_model) and `<name>_rv64` (bm_model_suite).

    Args:
      name: name of the model, and of the function in `src` that makes it.
      src: Python file.
      deps: Python libraries that `src` imports.
    """
    bm_model(
        name = name,
        src = src,
        factory = name,
        tags = LARGE,
        deps = deps,
    )
    bm_model_suite(
        name = name + "_rv64",
        models = [name],
        tags = LARGE,
        vlens = [256],
    )
