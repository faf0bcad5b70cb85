"""bm_image: a C program of your own, linked for a board."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules/private:image.bzl", "IMAGE_ATTRS", "IMAGE_RULE", "image_providers", "link_image")
load("//tools/rules/private:transitions.bzl", "c_transition")

def _bm_image_impl(ctx):
    return image_providers(ctx, link_image(ctx, [dep[CcInfo] for dep in ctx.attr.deps]))

bm_image = rule(
    implementation = _bm_image_impl,
    doc = """Links C libraries, one of which has main(), into a bootable image.

    For programs without a model; an application with models inside is a bm_firmware with a `main`.""",
    attrs = IMAGE_ATTRS | {
        "deps": attr.label_list(doc = "cc_library targets.", cfg = c_transition, mandatory = True, providers = [CcInfo]),
    },
    **IMAGE_RULE
)
