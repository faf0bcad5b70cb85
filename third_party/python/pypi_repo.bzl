"""@pypi: the Python packages of Ironcast's lock and of the user's, each fetched when something needs it."""

load("//third_party:versions.bzl", "PYTHON_CPU_BUILDS", "PYTHON_PACKAGES")

# Packages of the user's that do not suit this Ironcast fail where they are used, so that //:lock still runs.
_REQUIREMENTS_BZL = """\
load("{package_repo}", "package_repo")

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
    for name, package in _PACKAGES.items():
        package_repo(
            name = "{name}_" + name,
            package = name,
            packages = {file},
            pip = "{pip}" if name == "uv" else None,
            prefix = "{name}_",
            uv = None if name == "uv" else "@{name}_uv//:bin/uv",
            **package
        )
"""

# Strings, because the rule does not read these files; a label among its attributes would be fetched first.
_CHOICE = str(Label("@cpu_builds//:choice"))
_PIP = str(Label("@pypi__pip//:BUILD.bazel"))

_NEEDS = "    # needs "

def _normal(name):
    return name.replace("-", "_").replace(".", "_").lower()

def _locked(text):
    """Returns the packages of a lock: normal name -> version and hashes in one line, and what it needs."""
    packages = {}
    last = None
    for line in text.replace("\\\n", "").split("\n"):
        if line.startswith(_NEEDS):
            packages[last]["needs"] = [_normal(name) for name in line.removeprefix(_NEEDS).split(" ")]
        elif line and not line.startswith("#"):
            last = _normal(line.partition("==")[0].partition("[")[0])
            packages[last] = {"line": line.strip(), "needs": []}
    return packages

def _version(package):
    return package["line"].partition(" ")[0].partition("==")[2]

def _name(rctx):
    """Returns the name that BUILD files use; a module extension puts its own before it."""
    return rctx.name.replace("+", "~").rpartition("~")[2]

def _pypi_repo_impl(rctx):
    ours = _locked(rctx.read(rctx.attr._lock))
    more = _locked(rctx.read(rctx.attr.more)) if rctx.attr.more else {}

    # //:lock leaves out what Ironcast has. If Ironcast has got another version since then, none of the others may fit.
    is_outdated = [name for name in more if name in ours and _version(more[name]) != _version(ours[name])]
    packages = more | ours
    about = {_normal(name): package for name, package in PYTHON_PACKAGES.items()}
    rctx.file("packages.json", json.encode_indent({
        name: dict(package, skip = about.get(name, {}).get("skip", []))
        for name, package in packages.items()
    }))
    choices = {_normal(wheel.partition("-")[0]): _CHOICE for wheel in PYTHON_CPU_BUILDS}
    rctx.file("BUILD.bazel", "exports_files([\"packages.json\"])\n")
    rctx.file("requirements.bzl", _REQUIREMENTS_BZL.format(
        file = repr(str(rctx.path("packages.json"))),
        lock = Label("//:lock"),
        name = _name(rctx),
        outdated = [name for name in more if name not in ours] if is_outdated else [],
        package_repo = Label("//third_party/python:package_repo.bzl"),
        packages = {
            name: dict(
                package,
                choice = choices.get(name),
                programs = about.get(name, {}).get("programs", []),
                skip = about.get(name, {}).get("skip", []),
            )
            for name, package in packages.items()
        },
        pip = _PIP,
    ))

pypi_repo = repository_rule(
    implementation = _pypi_repo_impl,
    doc = "@NAME//:requirements.bzl has requirement(PACKAGE), the label of a package with everything it needs.",
    attrs = {
        "more": attr.label(doc = "The user's lock."),
        "_lock": attr.label(default = "//third_party/python:requirements_lock.txt"),
    },
)
