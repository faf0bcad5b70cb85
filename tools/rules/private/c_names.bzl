"""What a model's C symbols begin with."""

def c_name_of(target_name):
    """Returns the C name of the bm_model with this target name, e.g. `kws_v2` for `kws-v2`."""
    return target_name.replace("-", "_").replace(".", "_")
