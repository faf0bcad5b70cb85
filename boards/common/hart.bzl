"""hart: the part of the HAL that every hart in machine mode has."""

load("//runtime_bm:c_room.bzl", "c_part")

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
    c_part(
        name = name,
        srcs = [Label("//boards/common:riscv.c")],
        copts = [],
        local_defines = ["BM_MISA={}".format(bits)] if misa else [],
        target_compatible_with = ["@platforms//os:none"],
        # Every board without an operating system has startup and traps.
        deps = "//boards/common:csr //boards/common:device_tree //boards/common:probe base crt crt:crt_api hal:hal_api",
        **kwargs
    )
