"""What only Ironcast's own tests need from outside, not those who use it."""

load("//third_party:versions.bzl", "BUILDIFIER")
load("//third_party/buildifier:buildifier_repo.bzl", "buildifier_repo")
load("//tools/dev/lint:tree_repo.bzl", "tree_repo")

def ironcast_development():
    """Declares the repositories of Ironcast's linters and of its release."""
    buildifier_repo(
        name = "buildifier",
        package = BUILDIFIER["package"],
        sha256s = BUILDIFIER["sha256s"],
    )
    tree_repo(name = "tree")
