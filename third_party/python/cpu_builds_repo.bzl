"""Makes pip take CPU builds from the machine's local folders; see cpu_builds.py."""

def _cpu_builds_repo_impl(rctx):
    for variable in ["PIP_FIND_LINKS", "PIP_CONFIG_FILE"]:
        rctx.getenv(variable)
    script = rctx.path(rctx.attr._script)
    done = rctx.execute([rctx.path(rctx.attr._python), script] + ["%s=%s" % item for item in rctx.attr.builds.items()])
    if done.return_code != 0:
        fail("%s failed: %s" % (script, done.stderr.strip()))
    rctx.file("links.html", done.stdout)
    rctx.file("BUILD.bazel", "")
    rctx.file("defs.bzl", "PIP_ARGS = %r\n" % ["--find-links=%s" % rctx.path("links.html")])

cpu_builds_repo = repository_rule(
    implementation = _cpu_builds_repo_impl,
    doc = "@NAME//:defs.bzl has PIP_ARGS.",
    attrs = {
        "builds": attr.string_dict(mandatory = True, doc = "Wheel file name -> sha256."),
        "_python": attr.label(default = "@local_python//:python3"),
        "_script": attr.label(default = "//third_party/python:cpu_builds.py"),
    },
)
