"""release: the source tree as an archive that other repositories fetch."""

load("//compiler/bmc:version.bzl", "VERSION")

def release(*, name, contents, tracked = True, **kwargs):
    """Makes ironcast.tar.gz, its hash, and what a WORKSPACE needs to fetch it.

    Args:
      name: name of the target.
      contents: list of the files that the archive takes, of @tree.
      tracked: whether files that git does not track are refused.
      **kwargs: attributes of the target.
    """
    native.genrule(
        name = name,
        srcs = ["//:WORKSPACE", contents],
        outs = [
            "ironcast.snippet",
            "ironcast.tar.gz",
            "ironcast.tar.gz.sha256",
        ],
        cmd = "$(execpath //tools/dev/release) --tree $(execpath //:WORKSPACE) " +
              "--contents $(execpath {}) --out $(RULEDIR) --version {}".format(contents, VERSION) + (" --tracked" if tracked else ""),
        # It reads the tree itself. @tree makes it run again when a file changes.
        local = True,
        tags = ["manual"],
        tools = ["//tools/dev/release"],
        **kwargs
    )
