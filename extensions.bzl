"""What Ironcast needs, for your MODULE.bazel file (docs/how-to/your-own-repository.md)."""

load("//third_party:repositories.bzl", "ironcast_repositories")

def _ironcast_impl(mctx):
    locks = [
        tag.lock
        for module in mctx.modules
        if module.is_root
        for tag in module.tags.requirements
    ]
    ironcast_repositories(requirements_lock = locks[0] if locks else None)
    return mctx.extension_metadata(reproducible = True)

ironcast = module_extension(
    implementation = _ironcast_impl,
    doc = "The repositories that deps.bzl declares for a WORKSPACE file.",
    tag_classes = {
        "requirements": tag_class(
            attrs = {"lock": attr.label(mandatory = True)},
            doc = "Your Python packages: a file that `run @ironcast//:lock` writes.",
        ),
    },
)
