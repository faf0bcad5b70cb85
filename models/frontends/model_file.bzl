"""model_file: a model file made by its framework, as a user would supply it."""

load("@rules_python//python:defs.bzl", "py_binary")

def model_file(*, name, generator, outs, deps, srcs = []):
    """Runs a Python program that writes a model.

    Args:
      name: name of the target, which consists of the files.
      generator: Python file, called with the first of `outs`.
      outs: files it writes.
      deps: libraries that the generator imports.
      srcs: modules next to the generator.
    """
    py_binary(
        name = name + "._generator",
        srcs = [generator] + srcs,
        main = generator,
        tags = ["manual"],
        deps = deps,
    )
    native.genrule(
        name = name,
        outs = outs,
        # Frameworks print a lot, even on success.
        cmd = "$(execpath {0}._generator) $(location {1}) >$(RULEDIR)/{0}.log 2>&1 || (cat $(RULEDIR)/{0}.log; exit 1)".format(name, outs[0]),
        message = "Making a model file:",
        tags = ["manual"],
        tools = [name + "._generator"],
    )
