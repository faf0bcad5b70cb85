"""Files of an npm package."""

load("//third_party/npm:npm.bzl", "NPM_ATTRS", "npm_pack")

def _npm_files_repo_impl(rctx):
    files = rctx.attr.files
    npm_pack(rctx, package = rctx.attr.package, file = files[0], sha256 = rctx.attr.sha256)
    rctx.file("BUILD.bazel", "exports_files({})\n".format(files))

npm_files_repo = repository_rule(
    implementation = _npm_files_repo_impl,
    attrs = dict(
        NPM_ATTRS,
        files = attr.string_list(mandatory = True, doc = "Files to export."),
        package = attr.string(mandatory = True, doc = "npm package and version, whose archive npm checks."),
        sha256 = attr.string(mandatory = True, doc = "Of the first file."),
    ),
)
