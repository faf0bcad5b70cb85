"""Everything that is fetched from outside, as listed in versions.bzl and debian/packages.bzl."""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//third_party:versions.bzl", "D3", "NPM_MODELS", "PYTHON_CPU_BUILDS", "RULESETS")
load("//third_party/d3:d3_repo.bzl", "d3_repo")
load("//third_party/debian:debian_suite_repo.bzl", "debian_suite_repo")
load("//third_party/debian:debian_tools_repo.bzl", "debian_tools_repo")
load("//third_party/debian:packages.bzl", "DEBIAN_SUITE_TOOLS", "DEBIAN_TOOLS")
load("//third_party/llvm:users_clang_repo.bzl", "users_clang_repo")
load("//third_party/npm:files_repo.bzl", "npm_files_repo")
load("//third_party/python:cpu_builds_repo.bzl", "cpu_builds_repo")
load("//third_party/python:local_python_repo.bzl", "local_python_repo")
load("//third_party/python:pypi_repo.bzl", "pypi_repo")
load("//third_party/spike:spike_repo.bzl", "spike_repo")

def ironcast_rulesets():
    """Declares the rulesets, which are modules in a MODULE.bazel file."""
    for name, ruleset in RULESETS.items():
        maybe(
            http_archive,
            name = name,
            sha256 = ruleset["sha256"],
            strip_prefix = ruleset["strip_prefix"],
            url = ruleset["url"],
        )

def ironcast_repositories(*, requirements_lock):
    """Declares the other repositories. Each is fetched only when something needs it.

    Args:
      requirements_lock: lock of the user's own Python packages, or None.
    """
    for name, tools in DEBIAN_TOOLS.items():
        debian_tools_repo(
            name = name,
            environment_variable = tools["environment_variable"],
            leave_out = tools["leave_out"],
            packages = tools["packages"],
            programs = tools["programs"],
            skip = tools["skip"],
            versions = tools["versions"],
        )
    for name, tools in DEBIAN_SUITE_TOOLS.items():
        debian_suite_repo(
            name = name,
            environment_variable = tools["environment_variable"],
            leave_out = tools["leave_out"],
            packages = tools["packages"],
            program = tools["program"],
            skip = tools["skip"],
            suite = tools["suite"],
            versions = tools["versions"],
        )
    users_clang_repo(name = "users_clang")
    local_python_repo(name = "local_python")
    cpu_builds_repo(
        name = "cpu_builds",
        builds = PYTHON_CPU_BUILDS,
    )
    pypi_repo(
        name = "pypi",
        more = requirements_lock,
    )
    spike_repo(name = "spike")
    d3_repo(
        name = "d3",
        package = D3["package"],
        sha256 = D3["sha256"],
    )
    for name, models in NPM_MODELS.items():
        npm_files_repo(
            name = name,
            files = models["files"],
            package = models["package"],
            sha256 = models["sha256"],
        )
