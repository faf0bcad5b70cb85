"""Tools from Debian packages, unpacked but not installed, or the user's own instead.

The repository has one folder `root` with the layout of the packages; @NAME//:root is all of it, file by file.
@NAME//:folders is the same for an action, which links each input into its sandbox: a folder is one input. It does not
suit runfiles, because Bazel sends a folder to a remote worker at its place in the exec root.
Programs find their libraries relative to themselves.
"""

load("//third_party:store.bzl", "STORE")

_BUILD = """\
package(default_visibility = ["//visibility:public"])

exports_files({programs})

# Of the programs only those that are run: an action pays for each input.
filegroup(
    name = "root",
    srcs = {programs} + glob(
        ["root/**"],
        exclude = {programs} + ["root/usr/bin/**", "root/usr/lib/llvm-*/bin/**"],
    ),
)

filegroup(
    name = "folders",
    srcs = {programs} + {folders},
)
"""

# Replaces Debian's program, so callers need not know whose it is.
_USERS_OWN = """\
#!/bin/sh
exec '{path}' "$@"
"""

def _users_program(rctx, path):
    if "/" not in path:
        return rctx.which(path)
    return rctx.path(path) if rctx.path(path).exists else None

def _users_own(rctx):
    """Writes a wrapper for every program. The environment names the first; the others are next to it."""
    variable = rctx.attr.environment_variable
    named = rctx.getenv(variable)
    first = _users_program(rctx, named)
    if not first:
        fail("%s is %s, which does not exist: correct or unset it." % (variable, named))
    for index, program in enumerate(rctx.attr.programs):
        path = first
        if index > 0:
            base = program.rpartition("/")[2]
            beside = first.dirname.get_child(base)
            path = beside if beside.exists else rctx.which(base)
        if not path:
            # The error appears when the program runs.
            path = program.rpartition("/")[2]
        rctx.file("root/" + program, _USERS_OWN.format(path = path), executable = True)

def _debian_tools_repo_impl(rctx):
    variable = rctx.attr.environment_variable
    users_own = variable and rctx.getenv(variable)
    programs = repr(["root/" + p for p in rctx.attr.programs])
    if users_own:
        rctx.file("BUILD.bazel", _BUILD.format(folders = [], programs = programs))
        _users_own(rctx)
        return
    if not rctx.which("apt-get"):
        what = "set %s to your own" % variable if variable else "use a Debian machine"
        fail("@%s comes from Debian packages and this machine has no apt: %s." % (rctx.name, what))
    for file in rctx.attr._recipe:
        rctx.watch(file)
    request = {
        "leave_out": rctx.attr.leave_out,
        "packages": rctx.attr.packages,
        "programs": rctx.attr.programs,
        "root": str(rctx.path("root")),
        "skip": rctx.attr.skip,
        "versions": rctx.attr.versions,
    }
    rctx.file("request.json", json.encode_indent(request))
    rctx.report_progress("unpacking Debian packages: " + ", ".join(rctx.attr.packages))
    done = rctx.execute(
        ["/bin/sh", "-c", "exec \"$0\" -I \"$1\" < request.json", rctx.which("python3"), rctx.path(rctx.attr._program)],
        timeout = 1200,
    )
    if done.return_code != 0:
        fail("@%s: %s" % (rctx.name, done.stderr.strip()))
    folders = json.decode(rctx.read("folders.json"))
    rctx.file("BUILD.bazel", _BUILD.format(folders = folders, programs = programs))
    for line in done.stdout.splitlines():
        # buildifier: disable=print
        print("@%s: %s" % (rctx.name, line))

debian_tools_repo = repository_rule(
    implementation = _debian_tools_repo_impl,
    doc = "Unpacks Debian packages and their dependencies into `root`, without root rights and without installing.",
    attrs = {
        "environment_variable": attr.string(doc = "Names the user's own first program instead of the packages; the others must be next to it."),
        "leave_out": attr.string_list(doc = "Packages not to unpack: regular expressions for whole names."),
        "packages": attr.string_list(mandatory = True, doc = "Package names."),
        "programs": attr.string_list(doc = "Files below root that will run; each is exported."),
        "skip": attr.string_list(doc = "Parts of packages not to write: tar patterns that start with ./"),
        "versions": attr.string_dict(doc = "Package -> version that this project was made with; others are reported, not refused."),
        "_recipe": attr.label_list(default = STORE + ["//third_party/debian:apt.py", "//third_party/debian:prefix.py"]),
        "_program": attr.label(default = "//third_party/debian:programs.py"),
    },
)
