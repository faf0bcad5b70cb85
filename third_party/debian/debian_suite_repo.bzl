"""A program of another Debian release than the machine's, unpacked but not installed, or the user's own instead.

@NAME//:root is all of it. The program starts with that release's C library, which may be newer than the machine's.
"""

load("//third_party:store.bzl", "STORE")

_BUILD = """\
package(default_visibility = ["//visibility:public"])

exports_files(["root/{program}"])

filegroup(
    name = "root",
    srcs = glob(["root/**"]),
)
"""

# Replaces Debian's program, so callers need not know whose it is.
_USERS_OWN = """\
#!/bin/sh
exec '{path}' "$@"
"""

def _debian_suite_repo_impl(rctx):
    variable = rctx.attr.environment_variable
    named = rctx.getenv(variable)
    rctx.file("BUILD.bazel", _BUILD.format(program = rctx.attr.program))
    if named:
        path = rctx.path(named) if "/" in named else rctx.which(named)
        if not path or not path.exists:
            fail("%s is %s, which does not exist: correct or unset it." % (variable, named))
        rctx.file("root/" + rctx.attr.program, _USERS_OWN.format(path = path), executable = True)
        return
    if not rctx.which("apt-get"):
        fail("@%s comes from Debian packages and this machine has no apt: set %s to your own." % (rctx.name, variable))
    for file in rctx.attr._recipe:
        rctx.watch(file)
    request = {
        "leave_out": rctx.attr.leave_out,
        "packages": rctx.attr.packages,
        "program": rctx.attr.program,
        "root": str(rctx.path("root")),
        "skip": rctx.attr.skip,
        "suite": rctx.attr.suite,
        "versions": rctx.attr.versions,
    }
    rctx.file("request.json", json.encode_indent(request))
    rctx.report_progress("unpacking packages of Debian %s: %s" % (rctx.attr.suite, ", ".join(rctx.attr.packages)))
    done = rctx.execute(
        ["/bin/sh", "-c", "exec \"$0\" -I \"$1\" < request.json", rctx.which("python3"), rctx.path(rctx.attr._program)],
        timeout = 1200,
    )
    if done.return_code != 0:
        fail("@%s: %s" % (rctx.name, done.stderr.strip()))
    for line in done.stdout.splitlines():
        # buildifier: disable=print
        print("@%s: %s" % (rctx.name, line))

debian_suite_repo = repository_rule(
    implementation = _debian_suite_repo_impl,
    doc = "Unpacks packages of one Debian release and what they depend on into `root`, its C library among them.",
    attrs = {
        "environment_variable": attr.string(doc = "Names the user's own program instead of the packages.", mandatory = True),
        "leave_out": attr.string_list(doc = "Packages not to unpack: regular expressions for whole names."),
        "packages": attr.string_list(mandatory = True, doc = "Package names."),
        "program": attr.string(mandatory = True, doc = "File below root that will run; it is exported."),
        "skip": attr.string_list(doc = "Parts of packages not to write: tar patterns that start with ./"),
        "suite": attr.string(mandatory = True, doc = "Codename of the release."),
        "versions": attr.string_dict(doc = "Package -> version that this project was made with; others are reported, not refused."),
        "_recipe": attr.label_list(default = STORE + ["//third_party/debian:apt.py", "//third_party/debian:prefix.py"]),
        "_program": attr.label(default = "//third_party/debian:suite.py"),
    },
)
