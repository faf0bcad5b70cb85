"""hart: the part of the HAL that every hart in machine mode has."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def hart(*, name, misa = "", **kwargs):
    """A library with the functions of riscv.c.

    Args:
      name: target name.
      misa: letters of the extensions, for designs whose register says something else; "" to read it.
      **kwargs: attributes of the library, e.g. visibility.
    """
    bits = 0
    for letter in misa.elems():
        bits |= 1 << "abcdefghijklmnopqrstuvwxyz".index(letter)
    cc_library(
        name = name,
        srcs = [Label("//boards/common:riscv.c")],
        local_defines = ["BM_MISA={}".format(bits)] if misa else [],
        target_compatible_with = ["@platforms//os:none"],
        deps = [
            Label("//boards/common:csr"),
            Label("//boards/common:device_tree"),
            Label("//boards/common:probe"),
            Label("//runtime_bm/base"),
            # Every board without an operating system has startup and traps.
            Label("//runtime_bm/crt"),
            Label("//runtime_bm/crt:crt_api"),
            Label("//runtime_bm/hal:hal_api"),
        ],
        **kwargs
    )
