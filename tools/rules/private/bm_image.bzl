"""bm_image: a C program of your own, linked for a board."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules/private:image.bzl", "IMAGE_ATTRS", "IMAGE_RULE", "image_providers", "link_image")

def _bm_image_impl(ctx):
    return image_providers(ctx, link_image(ctx, [dep[CcInfo] for dep in ctx.attr.deps]))

bm_image = rule(
    implementation = _bm_image_impl,
    doc = """Links C libraries, one of which has main(), into a bootable image.

    This is how an application with models inside is made: name bm_model targets in the deps of the
    library that has main(), include their plan.h, and use runtime_bm/bm.h.""",
    attrs = IMAGE_ATTRS | {
        "deps": attr.label_list(doc = "cc_library targets.", mandatory = True, providers = [CcInfo]),
    },
    **IMAGE_RULE
)
