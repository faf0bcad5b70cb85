"""Makes pip take CPU builds from the machine's local folders; see cpu_builds.py."""

# All variables that cpu_builds.py reads.
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
    script = rctx.path(rctx.attr._script)
    done = rctx.execute([rctx.path(rctx.attr._python), script] + ["%s=%s" % item for item in rctx.attr.builds.items()])
    if done.return_code != 0:
        fail("%s failed: %s" % (script, done.stderr.strip()))
    answer = json.decode(done.stdout)
    for path in answer["watch"]:
        rctx.watch(path)
    if answer["note"]:
        print(answer["note"])  # buildifier: disable=print
    rctx.file("links.html", answer["page"])
    rctx.file("BUILD.bazel", "")

    # When these change, only torch is fetched again.
    rctx.file("torch", str(hash(answer["choices"] + "".join([rctx.read(file) for file in rctx.attr._without_cuda]))))

cpu_builds_repo = repository_rule(
    implementation = _cpu_builds_repo_impl,
    doc = "@NAME//:links.html is for pip's --find-links; @NAME//:torch changes when pip may choose another build of torch.",
    attrs = {
        "builds": attr.string_dict(mandatory = True, doc = "Wheel file name -> sha256."),
        "_python": attr.label(default = "@local_python//:python3"),
        "_script": attr.label(default = "//third_party/python:cpu_builds.py"),
        "_without_cuda": attr.label_list(default = ["//third_party/python:stub_library.py", "//third_party/python:without_cuda.py"]),
    },
)
