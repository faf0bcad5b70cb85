"""outside_model: a model that others wrote, in an image that is built by name only."""

load("//models:zoo.bzl", "LARGE")
load("//tools/rules:defs.bzl", "bm_model", "bm_model_suite")

def outside_model(*, name, tags = LARGE, **kwargs):
    """Makes `<name>` (bm_model) and `<name>_rv64` (bm_model_suite).

    Args:
      name: name of the model.
      tags: tags of both.
      **kwargs: other attributes of the bm_model.
    """
    bm_model(
        name = name,
        tags = tags,
        **kwargs
    )
    bm_model_suite(
        name = name + "_rv64",
        models = [name],
        tags = tags,
        vlens = [256],
    )
