"""built_for_tests: files of programs that run in tests, built as for actions."""

def _built_for_tests_impl(ctx):
    return [DefaultInfo(files = depset(transitive = [src[DefaultInfo].files for src in ctx.attr.srcs]))]

built_for_tests = rule(
    implementation = _built_for_tests_impl,
    doc = "Files of targets as actions use them: environments have them anyhow, so nothing is built twice.",
    attrs = {"srcs": attr.label_list(cfg = "exec")},
)
