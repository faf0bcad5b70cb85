"""What weights are trained again for."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//tools/rules:defs.bzl", "bm_weights")

_MODULES = ["__init__", "arithmetic", "eigen_caches", "errors", "factory", "installing", "names", "spec", "training"]

def _needs_little_impl(ctx):
    env = analysistest.begin(ctx)
    files = analysistest.target_under_test(env)[DefaultInfo].default_runfiles.files.to_list()
    found = sorted([file.short_path for file in files if file.is_source and not file.short_path.startswith("../")])
    asserts.equals(env, ["compiler/bmc/{}.py".format(module) for module in _MODULES], found)
    return analysistest.end(env)

_needs_little_test = analysistest.make(_needs_little_impl)

def training_tests(*, name):
    """Tests that a change to the compiler's rewrites, frontends and so on does not train again.

    Args:
      name: name of the suite.
    """
    bm_weights(
        name = "trained",
        src = "trained.py",
        function = "trained",
    )
    _needs_little_test(
        name = "trained_needs_little_test",
        target_under_test = "trained._trainer",
    )
    native.test_suite(
        name = name,
        tests = ["trained_needs_little_test"],
    )
