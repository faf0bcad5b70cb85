"""A Python package of the lock, unpacked; @pypi declares one for each."""

load("//third_party:store.bzl", "STORE")

# A package is passed on as one folder. File by file, every action that imports torch would link fourteen thousand
# files into its sandbox. `:files` is the package without what it needs.
_BUILD = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])

exports_files({programs})

py_library(
    name = "pkg",
    data = ["site-packages"],
    imports = ["site-packages"],
    deps = {deps},
)

py_library(
    name = "files",
    data = ["site-packages"],
    imports = ["site-packages"],
)
"""

# What a rule that calls fetch_package has among its attributes.
PACKAGE_ATTRS = {
    "_program": attr.label(default = "//third_party/python:packages.py"),
    "_python": attr.label(default = "@local_python//:python3"),
    "_recipe": attr.label_list(default = STORE + [
        "//third_party/python:cpu_builds.py",
        "//third_party/python:install.py",
        "//third_party/python:pip_config.py",
        "//third_party/python:stub_library.py",
        "//third_party/python:without_cuda.py",
        "//tools/launcher:table.py",
    ]),
}

def fetch_package(rctx, *, name, packages, root = ".", **how):
    """Puts the files of a package into a folder: `site-packages` and `bin`.

    Args:
      rctx: of a repository rule with PACKAGE_ATTRS.
      name: normal name of the package.
      packages: path of the file with all packages.
      root: the folder.
      **how: `uv`, its path; else `pythonpath`, with which pip can be imported. python_version: other than the machine's.
    """
    for file in rctx.attr._recipe:
        rctx.watch(file)
    rctx.report_progress("fetching %s and what it needs" % name)
    request = dict(how, name = name, packages = str(packages), root = str(rctx.path(root)))
    rctx.file("request.json", json.encode_indent(request))
    done = rctx.execute(
        ["/bin/sh", "-c", "exec \"$0\" -I \"$1\" < request.json", rctx.path(rctx.attr._python), rctx.path(rctx.attr._program)],
        timeout = 7200,
    )
    if done.return_code != 0:
        fail("%s could not be fetched: %s" % (name, done.stderr.strip()))

def _package_repo_impl(rctx):
    rctx.file("BUILD.bazel", _BUILD.format(
        deps = ["@%s%s//:pkg" % (rctx.attr.prefix, name) for name in rctx.attr.needs],
        programs = rctx.attr.programs,
    ))
    if rctx.attr.uv:
        how = {"uv": str(rctx.path(rctx.attr.uv))}
    else:
        folders = [rctx.path(rctx.attr.pip).dirname, rctx.path(rctx.attr._python).dirname.get_child("for_old_pip")]
        how = {"pythonpath": ":".join([str(folder) for folder in folders])}
    fetch_package(rctx, name = rctx.attr.package, packages = rctx.attr.packages, **how)

package_repo = repository_rule(
    implementation = _package_repo_impl,
    doc = "@NAME//:pkg is a Python package with what it needs, @NAME//:files the package alone.",
    attrs = dict(
        PACKAGE_ATTRS,
        choice = attr.label(doc = "A file that changes when another build of the package may be taken."),
        line = attr.string(mandatory = True, doc = "The package in the lock: version and hashes."),
        needs = attr.string_list(doc = "Normal names of the packages that it needs."),
        package = attr.string(mandatory = True, doc = "Its normal name."),
        packages = attr.string(mandatory = True, doc = "Path of the file with all packages, which @pypi has."),
        pip = attr.label(doc = "A file next to pip, which fetches uv."),
        prefix = attr.string(mandatory = True, doc = "Of the repositories of packages."),
        programs = attr.string_list(doc = "Files to export."),
        skip = attr.string_list(doc = "Folders in `site-packages` to leave out."),
        uv = attr.label(doc = "The program that fetches everything else."),
    ),
)
