"""@pypi: the Python packages of Ironcast's lock and of the user's, each fetched when something needs it.

Like rules_python's pip_parse, but declared before rules_python can be loaded, so that a WORKSPACE file needs
only two calls.
"""

load("//third_party:versions.bzl", "PYTHON_PACKAGES")

# A package of ours is passed on as one folder. File by file, every action that imports torch would link
# fourteen thousand files into its sandbox.
# `:files` is the package without the dependencies in its metadata.
_ADDITIONS = """
exports_files({programs})

py_library(
    name = "files",
    data = ["site-packages"],
    imports = ["site-packages"],
)
"""

# Packages of the user's that do not suit this Ironcast fail where they are used, so that //:lock still runs.
_REQUIREMENTS_BZL = """\
load("@rules_python//python/pip_install:pip_repository.bzl", "whl_library")

_PACKAGES = {packages}
_OUTDATED = {outdated}

# Of the packages' repositories. With a MODULE.bazel file, no other repository has names for them.
_PREFIX = Label("@{name}_uv//:pkg").workspace_name.removesuffix("uv")

def _normal(name):
    return name.replace("-", "_").replace(".", "_").lower()

def requirement(name):
    if _normal(name) in _OUTDATED:
        fail("requirements_lock.txt was written for another Ironcast: run {lock}")
    if _normal(name) not in _PACKAGES:
        fail(name + " is not locked: add it to requirements.txt, then run {lock}")
    return "@@" + _PREFIX + _normal(name) + "//:pkg"

def install_deps():
    for name, (requirement, annotation) in _PACKAGES.items():
        whl_library(
            name = "{name}_" + name,
            annotation = annotation,
            extra_pip_args = {pip_args},
            # pip sees the machine's own configuration: indexes, folders, certificates.
            isolated = False,
            python_interpreter_target = "@local_python//:unpacker",
            repo = "{name}",
            repo_prefix = "{name}_",
            requirement = requirement,
        )
"""

def _normal(name):
    return name.replace("-", "_").replace(".", "_").lower()

def _locked(text):
    """Returns the packages of a lock: normal name -> requirement with its hashes, in one line."""
    lines = text.replace("\\\n", "").split("\n")
    return {
        _normal(line.partition("==")[0].partition("[")[0]): line.strip()
        for line in lines
        if line and not line.startswith("#")
    }

def _annotate(rctx, package, about):
    """Writes how a package of ours becomes a repository; returns the file's label."""
    content = _ADDITIONS.format(
        programs = about.get("programs", []),
    )
    if package == "torch":
        content += "# Choice of its build: %s\n" % rctx.read(rctx.attr._torch)
    file = package + ".annotation.json"
    rctx.file(file, json.encode_indent({
        "additive_build_content": content,
        "copy_executables": {},
        "copy_files": {},
        "data": ["site-packages"],
        "data_exclude_glob": ["site-packages/**"],
        "srcs_exclude_glob": ["site-packages/**"],
    }))
    return "@%s//:%s" % (_name(rctx), file)

def _version(line):
    return line.partition(" ")[0].partition("==")[2]

def _name(rctx):
    """Returns the name that BUILD files use; a module extension puts its own before it."""
    return rctx.name.replace("+", "~").rpartition("~")[2]

def _pypi_repo_impl(rctx):
    ours = _locked(rctx.read(rctx.attr._lock))
    more = _locked(rctx.read(rctx.attr.more)) if rctx.attr.more else {}

    # //:lock leaves out what Ironcast has. If Ironcast has got another version since then, none of the others may fit.
    is_outdated = [name for name in more if name in ours and _version(more[name]) != _version(ours[name])]
    about = {_normal(name): package for name, package in PYTHON_PACKAGES.items()}
    packages = {
        name: (line, _annotate(rctx, name, about[name]) if name in about else None)
        for name, line in (more | ours).items()
    }
    rctx.file("BUILD.bazel", "")
    rctx.file("requirements.bzl", _REQUIREMENTS_BZL.format(
        lock = Label("//:lock"),
        name = _name(rctx),
        outdated = [name for name in more if name not in ours] if is_outdated else [],
        packages = packages,
        pip_args = ["--find-links=%s" % rctx.path(rctx.attr._links)],
    ))

pypi_repo = repository_rule(
    implementation = _pypi_repo_impl,
    doc = "@NAME//:requirements.bzl has requirement(PACKAGE), the label of a package with everything it needs.",
    attrs = {
        "more": attr.label(doc = "The user's lock."),
        "_links": attr.label(default = "@cpu_builds//:links.html"),
        "_lock": attr.label(default = "//third_party/python:requirements_lock.txt"),
        "_torch": attr.label(default = "@cpu_builds//:torch"),
    },
)
