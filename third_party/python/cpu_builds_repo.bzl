"""Notices when another build of PyTorch may be taken; see cpu_builds.py."""

# All variables that decide it.
_ENVIRONMENT = [
    "HOME",
    "PIP_CONFIG_FILE",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_NO_INDEX",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
]

def _cpu_builds_repo_impl(rctx):
    for variable in _ENVIRONMENT:
        rctx.getenv(variable)
    rctx.watch(rctx.attr._pip_config)
    script = rctx.path(rctx.attr._script)
    done = rctx.execute([rctx.path(rctx.attr._python), "-I", script] + ["%s=%s" % item for item in rctx.attr.builds.items()])
    if done.return_code != 0:
        fail("%s failed: %s" % (script, done.stderr.strip()))
    answer = json.decode(done.stdout)
    for path in answer["watch"]:
        rctx.watch(path)
    if answer["note"]:
        print(answer["note"])  # buildifier: disable=print
    rctx.file("BUILD.bazel", "")
    rctx.file("choice", answer["choice"])

cpu_builds_repo = repository_rule(
    implementation = _cpu_builds_repo_impl,
    doc = "@NAME//:choice changes when another build may be taken. When it does, only that package is fetched again.",
    attrs = {
        "builds": attr.string_dict(mandatory = True, doc = "Wheel file name -> sha256."),
        "_pip_config": attr.label(default = "//third_party/python:pip_config.py"),
        "_python": attr.label(default = "@local_python//:python3"),
        "_script": attr.label(default = "//third_party/python:cpu_builds.py"),
    },
)
