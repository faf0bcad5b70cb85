"""library_networks: int8 networks of the zoo with a kernel library, as images, tests of answers, and comparisons."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_firmware_test", "bm_kernel_test", "bm_model_variant")

def library_networks(*, name, library, networks, variant, isa, env, kernel_envs = [], float_parts = {}, **kwargs):
    """Makes `MODEL_<variant>` and `MODEL_<name>`, and for CI `MODEL_answers` and `MODEL_kernels`.

    Args:
      name: what the names of the images end in. `bazel run` of one prints its instructions.
      library: bm_kernel_library label.
      networks: dict from a model of `//models`, without `_int8`, to whether CI runs it.
      variant: what the names of models with the library end in.
      isa: of the images.
      env: environment of //boards/spike_rv64 that runs them.
      kernel_envs: environments that compare the kernels, if not only `env`.
      float_parts: dict from a model to its `float_parts`.
      **kwargs: attributes of the images.
    """
    spike = "//boards/spike_rv64:"
    for model, is_in_ci in networks.items():
        bm_model_variant(
            name = "{}_{}".format(model, variant),
            float_parts = float_parts.get(model, {}),
            kernels = [library],
            model = "//models/{0}:{0}_int8".format(model),
        )
        bm_firmware(
            name = "{}_{}".format(model, name),
            board = "//boards/spike_rv64",
            isa = isa,
            models = [":{}_{}".format(model, variant)],
            run_env = spike + env,
            tags = ["manual"],
            **kwargs
        )
        if is_in_ci:
            bm_firmware_test(
                name = model + "_answers",
                exec_envs = {spike + env: ["spike"]},
                firmware = "{}_{}".format(model, name),
            )
            bm_kernel_test(
                name = model + "_kernels",
                exec_envs = [spike + each for each in kernel_envs or [env]],
                isa = isa,
                model = ":{}_{}".format(model, variant),
            )

def plain_networks(*, name, networks, isa, env):
    """Makes `MODEL_<name>`: the same networks without a library.

    Args:
      name: what the names of the images end in.
      networks: as above.
      isa: of the images.
      env: environment of //boards/spike_rv64 that runs them.
    """
    for model in networks:
        bm_firmware(
            name = "{}_{}".format(model, name),
            board = "//boards/spike_rv64",
            isa = isa,
            models = ["//models/{0}:{0}_int8".format(model)],
            profile = True,
            run_env = "//boards/spike_rv64:" + env,
            tags = ["manual"],
        )
