"""The tests of a kernel library: without a model, and with int8 networks of the zoo on Spike."""

load("@rules_python//python:defs.bzl", "py_test")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_kernel_test", "bm_measured", "bm_model_variant", "bm_runs", "bm_runs_test")

def library_tests(*, name, extension = None, deps = []):
    """Makes `take_test`, of the library's matcher, and `instructions_test`, of the instructions that Spike computes.

    Args:
      name: unused; the tests are named after their files. A library without instructions of its own has only the first.
      extension: bm_spike_extension for instructions that Spike lacks.
      deps: more that the first one imports.
    """
    py_test(
        name = "take_test",
        size = "small",
        srcs = ["take.py", "take_test.py"],
        imports = ["."],
        deps = ["//compiler:bmc_lib"] + deps,
    )
    if not native.glob(["instructions_test.py"], allow_empty = True):
        return
    programs = {
        "CLANG": "//third_party/llvm:clang",
        "DTC": "//third_party/tools:dtc",
        "SPIKE": "//third_party/spike",
    } | ({"EXTENSION": extension} if extension else {})
    py_test(
        name = "instructions_test",
        size = "small",
        srcs = ["instructions_test.py"],
        data = ["instructions.h"] + programs.values(),
        env = {variable: "$(rootpath {})".format(program) for variable, program in programs.items()},
        tags = ["spike"],
        deps = ["//kernels/tests:instruction_rows"],
    )

def library_networks(
        *,
        name,
        library,
        networks,
        variant,
        isa,
        env,
        more = "",
        kernel_envs = [],
        float_parts = {},
        refused_in = None,
        plain = {}):
    """Makes `MODEL_<variant>`, `MODEL_<name>` and its report, `MODEL_answers_test`, and for CI `MODEL_kernels_test`.

    Args:
      name: what the names of the images end in. `bazel run` of one prints its instructions.
      library: bm_kernel_library label.
      networks: models of `//models`, without `_int8`, as words.
      variant: what the names of models with the library end in.
      isa: of the images.
      env: environment of //boards/spike_rv64 that runs them.
      more: models that CI does not run.
      kernel_envs: environments that compare the kernels, if not only `env`.
      float_parts: dict from a model to its `float_parts`.
      refused_in: environment of a hart that the first image tells that it lacks the library's instructions:
        `MODEL_without_<name>_test`.
      plain: dict from what the names of images without the library end in to their ISA and environment.
    """
    in_ci = networks.split(" ")
    for model in in_ci + (more.split(" ") if more else []):
        network = "//models/{0}:{0}_int8".format(model)
        bm_model_variant(
            name = "{}_{}".format(model, variant),
            float_parts = float_parts.get(model, {}),
            kernels = [library],
            model = network,
        )
        library_image(
            name = "{}_{}".format(model, name),
            answers = model + "_answers",
            env = env,
            isa = isa,
            model = ":{}_{}".format(model, variant),
            tags = [] if model in in_ci else ["manual"],
        )
        if model in in_ci:
            bm_kernel_test(
                name = model + "_kernels",
                exec_envs = ["//boards/spike_rv64:" + each for each in kernel_envs or [env]],
                isa = isa,
                model = ":{}_{}".format(model, variant),
            )
        for suffix, (plain_isa, plain_env) in plain.items():
            bm_firmware(
                name = "{}_{}".format(model, suffix),
                board = "//boards/spike_rv64",
                isa = plain_isa,
                models = [network],
                profile = True,
                run_env = "//boards/spike_rv64:" + plain_env,
                tags = ["manual"],
            )
    if refused_in:
        bm_runs_test(
            name = "{}_without_{}".format(in_ci[0], name),
            allow_smaller_vlen = True,
            expect = "ERROR",
            firmwares = {":{}_{}".format(in_ci[0], name): ["//boards/spike_rv64:" + refused_in]},
            text = "built for " + isa,
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
        image_tags = ["manual"],
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
