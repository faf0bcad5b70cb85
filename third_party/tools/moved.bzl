"""The old label of what is now in //third_party/tools."""

def moved(*, name, new = None):
    """Defines an alias that says what to write instead.

    Args:
      name: name in the calling package.
      new: name in //third_party/tools, if it is another.
    """
    label = "//third_party/tools:" + (new or name)
    native.alias(
        name = name,
        actual = label,
        deprecation = "write {} instead.".format(label),
        tags = ["manual"],
        visibility = ["//visibility:public"],
    )
