"""inner_bazel_test: a test that runs a Bazel of its own."""

load("@rules_python//python:defs.bzl", "py_test")

# What decides where the launcher, Bazel and pip look, as they were told for this workspace.
_INHERITED = [
    "BAZEL_REAL",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IRONCAST_CLANG",
    "IRONCAST_DTC",
    "IRONCAST_GITHUB",
    "IRONCAST_PYTHON",
    "IRONCAST_QEMU",
    "NO_PROXY",
    "PATH",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_NO_INDEX",
    "PIP_PROXY",
    "PIP_RETRIES",
    "PIP_TRUSTED_HOST",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "http_proxy",
    "https_proxy",
    "no_proxy",
]

def inner_bazel_test(*, name, deps = [], tags = [], **kwargs):
    """A py_test with inner_bazel.py, which finds the folder of this workspace's repositories.

    It runs without a sandbox around it, and with the network. Like other tests, it runs again when one of its inputs has
    changed: nothing here depends on the folder of this workspace. The inner Bazel is shown packages that are in `data`.

    Args:
      name: name of the test.
      deps: as in py_test.
      tags: more tags.
      **kwargs: more attributes of py_test.
    """
    py_test(
        name = name,
        # Minutes on a machine of its own, but not on one that does much else.
        timeout = "eternal",
        env_inherit = _INHERITED,
        tags = tags + [
            "no-sandbox",
            "requires-network",
        ],
        deps = deps + ["//tools/dev/inner_bazel"],
        **kwargs
    )
