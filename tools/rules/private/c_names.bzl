"""The prefix of a model's C symbols."""

load("//tools/rules:providers.bzl", "BmModelInfo")

_FIRST = "abcdefghijklmnopqrstuvwxyz"
_OTHERS = _FIRST + "0123456789_"

def c_name_of(target_name):
    """Returns the C name of the bm_model with this target name, e.g. `kws_v2` for `kws-v2`."""
    return target_name.replace("-", "_").replace(".", "_")

def check_c_name(name):
    """Fails unless `name` can begin C symbols; checked before the model is imported."""
    if name[0] not in _FIRST.elems() or [c for c in name.elems() if c not in _OTHERS.elems()]:
        fail("the model's C name would be '{}': begin the target's name with a lower-case letter, ".format(name) +
             "and use lower-case letters, digits, -, _ and . in it")

def check_distinct_names(label, models):
    """Fails if two models have the same C symbols, with a clearer message than the linker's.

    Args:
      label: the target to name.
      models: list of bm_model targets.
    """
    seen = {}
    for target in models:
        name = target[BmModelInfo].c_name
        if name in seen:
            fail("{}: {} and {} are both `{}` in C: build one of them under another name".format(
                label,
                seen[name],
                target.label,
                name,
            ))
        seen[name] = target.label
