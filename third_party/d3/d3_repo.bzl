"""D3 as one script, from its npm package, or the user's own, IRONCAST_D3."""

load("//third_party/npm:npm.bzl", "NPM_ATTRS", "npm_pack", "users_file")

_OWN = "IRONCAST_D3"
_SCRIPT = "dist/d3.min.js"

def _d3_repo_impl(rctx):
    script = users_file(rctx, _OWN)
    if not script:
        script = _SCRIPT
        npm_pack(rctx, package = rctx.attr.package, file = script, sha256 = rctx.attr.sha256, variable = _OWN)
    rctx.symlink(script, "d3.min.js")
    rctx.file("BUILD.bazel", "exports_files([\"d3.min.js\"])\n")

d3_repo = repository_rule(
    implementation = _d3_repo_impl,
    attrs = dict(
        NPM_ATTRS,
        package = attr.string(mandatory = True, doc = "npm package and version."),
        sha256 = attr.string(mandatory = True, doc = "Of dist/d3.min.js."),
    ),
)
