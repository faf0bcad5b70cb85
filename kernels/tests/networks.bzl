"""library_networks: int8 networks of the zoo with a kernel library, as images, tests of answers, and comparisons."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_kernel_test", "bm_measured", "bm_model_variant", "bm_runs")

def library_networks(*, name, library, networks, variant, isa, env, kernel_envs = [], float_parts = {}):
    """Makes `MODEL_<variant>`, `MODEL_<name>` and its report, and for CI `MODEL_answers` and `MODEL_kernels`.

    Args:
      name: what the names of the images end in. `bazel run` of one prints its instructions.
      library: bm_kernel_library label.
      networks: dict from a model of `//models`, without `_int8`, to whether CI runs it.
      variant: what the names of models with the library end in.
      isa: of the images.
      env: environment of //boards/spike_rv64 that runs them.
      kernel_envs: environments that compare the kernels, if not only `env`.
      float_parts: dict from a model to its `float_parts`.
    """
    for model, is_in_ci in networks.items():
        bm_model_variant(
            name = "{}_{}".format(model, variant),
            float_parts = float_parts.get(model, {}),
            kernels = [library],
            model = "//models/{0}:{0}_int8".format(model),
        )
        library_image(
            name = "{}_{}".format(model, name),
            answers = model + "_answers",
            env = env,
            isa = isa,
            model = ":{}_{}".format(model, variant),
            tags = [] if is_in_ci else ["manual"],
        )
        if is_in_ci:
            bm_kernel_test(
                name = model + "_kernels",
                exec_envs = ["//boards/spike_rv64:" + each for each in kernel_envs or [env]],
                isa = isa,
                model = ":{}_{}".format(model, variant),
            )

def library_image(*, name, model, answers, isa, env, tags = []):
    """Makes the image `<name>` with a profile, its report, and the test `<answers>_test`.

    Args:
      name: of the image.
      model: bm_model with kernel libraries.
      answers: prefix of the test.
      isa: of the image.
      env: environment of //boards/spike_rv64 that runs it.
      tags: of the test.
    """
    runs = bm_runs(
        name = answers,
        images = {"spike_rv64": name},
        models = [model],
        on = {isa: ["spike_rv64:" + env]},
        profile = ["spike_rv64"],
        tags = tags,
    )
    spike = Label("//boards/spike_rv64:" + env)
    bm_measured(
        name = name,
        board = "//boards/spike_rv64",
        exec_env = spike,
        isa = isa,
        models = [model],
        run = runs[spike],
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
