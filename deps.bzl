"""What Ironcast needs, for your WORKSPACE file (docs/how-to/your-own-repository.md):

    load("@ironcast//:deps.bzl", "ironcast_deps")

    ironcast_deps(requirements_lock = "//:requirements_lock.txt")

    load("@ironcast//:toolchains.bzl", "ironcast_toolchains")

    ironcast_toolchains()
"""

load("//third_party:repositories.bzl", "ironcast_repositories", "ironcast_rulesets")

def ironcast_deps(*, requirements_lock = None):
    """Declares Ironcast's repositories; each is fetched when something needs it.

    Args:
      requirements_lock: your Python packages, a file that `run @ironcast//:lock` writes. They and Ironcast's
        are in @pypi.
    """
    ironcast_rulesets()
    ironcast_repositories(requirements_lock = requirements_lock)
