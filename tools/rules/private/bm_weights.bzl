"""bm_weights: trains a model in an action of its own."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library")

def bm_weights(*, name, src, function, deps = [], **kwargs):
    """A module that trains a model, with the weights that it has trained.

    Weights are trained again only after a change to `src` or `deps`, not to the model file. A bm_model with this in its
    `deps` imports `src` as a module and calls `bmc.training.weights(module)`.

    Args:
      name: target name.
      src: Python file; what differs between models with the same weights belongs elsewhere.
      function: function in `src` that trains and returns a list of NumPy arrays.
      deps: Python libraries that `src` imports.
      **kwargs: attributes of every rule, e.g. visibility.
    """
    if not src.endswith(".py") or ":" in src or src.startswith("//"):
        fail("src '{}': name a Python file of this package".format(src))
    out = src.removesuffix(".py") + ".npz"
    tags = kwargs.pop("tags", []) + ["manual"]
    private = dict(kwargs, tags = tags, visibility = ["//visibility:private"])
    py_binary(
        name = name + "._trainer",
        srcs = [Label("//compiler/bmc:training.py")],
        main = Label("//compiler/bmc:training.py"),
        deps = [Label("//compiler/bmc:training")] + deps,
        **private
    )
    native.genrule(
        name = name + "._npz",
        srcs = [src],
        outs = [out],
        # Frameworks print a lot, even on success.
        cmd = "$(execpath {0}._trainer) $(location {1}):{2} $@ >$(RULEDIR)/{0}.log 2>&1 || (cat $(RULEDIR)/{0}.log; exit 1)".format(name, src, function),
        message = "Training",
        tools = [name + "._trainer"],
        **(private | {"tags": tags + ["block-network"]})
    )
    py_library(
        name = name,
        srcs = [src],
        data = [out],
        tags = tags,
        deps = [Label("//compiler/bmc:training")] + deps,
        **kwargs
    )
