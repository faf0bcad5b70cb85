"""trained_weights: trains a model once for all its element types."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library")

def trained_weights(*, name, deps):
    """Runs `trained()` of the folder's model.py, which returns a list of arrays.

    Targets with `name` in their deps get the arrays from `trained.weights()` in models/support/trained.py.

    Args:
      name: name of the library.
      deps: Python libraries that model.py imports.
    """
    py_binary(
        name = name + "._trainer",
        srcs = [Label("//models/support:train.py")],
        main = Label("//models/support:train.py"),
        tags = ["manual"],
        deps = [
            Label("//compiler:bmc_lib"),
            Label("//models/support:trained"),
        ] + deps,
    )
    native.genrule(
        name = name + "._npz",
        srcs = ["model.py"],
        outs = ["weights.npz"],
        # Frameworks print a lot, even on success.
        cmd = "$(execpath {0}._trainer) $(location model.py):trained $@ >$(RULEDIR)/{0}.log 2>&1 || (cat $(RULEDIR)/{0}.log; exit 1)".format(name),
        message = "Training:",
        tags = [
            "block-network",
            "manual",
        ],
        tools = [name + "._trainer"],
    )
    py_library(
        name = name,
        data = ["weights.npz"],
        tags = ["manual"],
        deps = [Label("//models/support:trained")],
    )
