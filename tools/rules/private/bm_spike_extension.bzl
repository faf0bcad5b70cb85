"""bm_spike_extension: instructions or devices that Spike loads when it starts."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//tools/rules:providers.bzl", "BmEmulatorPluginInfo")

def _bm_spike_extension_impl(ctx):
    return [
        DefaultInfo(files = depset([ctx.file.library])),
        BmEmulatorPluginInfo(
            args = ["--extlib", ctx.file.library] +
                   ["--extension=" + name for name in ctx.attr.extensions] +
                   ["--device=" + name for name in ctx.attr.devices],
            clock = ctx.attr.clock,
            library = ctx.file.library,
        ),
    ]

_bm_spike_extension = rule(
    implementation = _bm_spike_extension_impl,
    attrs = {
        "clock": attr.string(doc = "What a cycle of its devices is, and how many they take."),
        "devices": attr.string_list(doc = "Devices of it that a machine has, each with its arguments."),
        "extensions": attr.string_list(doc = "Extensions of it that a hart has."),
        "library": attr.label(allow_single_file = True, mandatory = True),
    },
    provides = [BmEmulatorPluginInfo],
)

def bm_spike_extension(*, name, srcs, extensions = [], devices = [], clock = "", copts = [], deps = [], **kwargs):
    """A library that Spike loads when it starts, for `plugins` of a bm_exec_env.

    It is C++ on Spike's own headers, and may define any number of extensions (`REGISTER_EXTENSION`, riscv/extension.h) and
    memory-mapped devices (`REGISTER_DEVICE`, riscv/abstract_device.h). It runs on the machine that builds.

    Args:
      name: target name.
      srcs: C++.
      extensions: names of those extensions that a hart has, as registered.
      devices: names of those devices that the machine has, as registered. `NAME,A,B` passes A and B to it.
      clock: one line for reports about the model of the devices' cycles: what one is, and how many they take.
      copts: more compiler options.
      deps: cc_library targets for this machine.
      **kwargs: attributes of every rule, e.g. visibility.
    """
    cc_binary(
        name = name + "._code",
        srcs = srcs,
        copts = copts,
        linkshared = True,
        deps = deps + [Label("//third_party/spike:headers")],
        **dict(kwargs, visibility = ["//visibility:private"])
    )
    _bm_spike_extension(
        name = name,
        clock = clock,
        devices = devices,
        extensions = extensions,
        library = name + "._code",
        **kwargs
    )
