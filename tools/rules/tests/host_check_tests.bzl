"""Whether a build of an image checks the model that was imported."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")

def _checks_impl(ctx):
    env = analysistest.begin(ctx)
    groups = analysistest.target_under_test(env)[OutputGroupInfo]
    found = [file.short_path for file in groups._validation.to_list()] if hasattr(groups, "_validation") else []
    asserts.equals(env, ctx.attr.checks, found)
    return analysistest.end(env)

_checks_test = analysistest.make(_checks_impl, attrs = {"checks": attr.string_list()})

def host_check_tests(*, name):
    """Tests that what is built of a model waits for the check of its import, and nothing else does.

    Args:
      name: name of the suite.
    """
    checks = {
        "//models/mlp:mlp_rv64": ["models/mlp/mlp._imported.verified.txt"],
        "//models/mlp:mlp_rv64.report": ["models/mlp/mlp._imported.verified.txt"],
        "//runtime_bm": [],
    }
    tests = []
    for number, (target, files) in enumerate(checks.items()):
        _checks_test(
            name = "host_check_{}_test".format(number),
            checks = files,
            target_under_test = target,
        )
        tests.append("host_check_{}_test".format(number))
    native.test_suite(
        name = name,
        tests = tests,
    )
