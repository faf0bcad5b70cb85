"""A room of C code, which is one folder: its libraries and its unit tests, which say no more than what they depend on.

Their files are found, and their options are those of the runtime. Dependencies are words in a string: `:console` is a
part of the same room, `base` is //runtime_bm/base, `hal:hal_api` is //runtime_bm/hal:hal_api, and what begins with `//`
is a label.

    c_room(name = "app", parts = {"boot": ":console :machine base", "machine": ":console crt:crt_api"})
    c_tests(name = "tests", deps = {"boot_test": ":boot testing:fake_model"})
"""

load("@rules_cc//cc:defs.bzl", "cc_library")
load(":copts.bzl", "BM_COPTS")

def c_room(*, name, parts, **kwargs):
    """Defines a library for each part of a folder.

    Args:
      name: name of the room. A part of this name has all files of the folder that are not tests; others have `<part>.c`
        and `<part>.h`, of which one may be missing.
      parts: dict from a part to what it depends on.
      **kwargs: attributes of every part, as in c_part.
    """
    for part, deps in parts.items():
        files = {}
        if part == name:
            files = {
                "srcs": native.glob(["*.c"], exclude = ["*_test.c"], allow_empty = True),
                "hdrs": native.glob(["*.h"], allow_empty = True),
            }
        c_part(name = part, deps = deps, **(files | kwargs))

def c_part(*, name, deps = "", srcs = None, hdrs = None, private_hdrs = [], copts = BM_COPTS, **kwargs):
    """Defines one library, for a part with attributes that no other part of its room has.

    Args:
      name: name of the library.
      deps: what it depends on.
      srcs: its sources; default: `<name>.c` if there is one.
      hdrs: its headers; default: `<name>.h` if there is one.
      private_hdrs: headers for its sources alone.
      copts: options of the compiler, if there are sources.
      **kwargs: other attributes of cc_library.
    """
    if srcs == None:
        srcs = native.glob([name + ".c"], allow_empty = True)
    if hdrs == None:
        hdrs = native.glob([name + ".h"], allow_empty = True)
    cc_library(
        name = name,
        srcs = private_hdrs + srcs,
        hdrs = hdrs,
        copts = copts if srcs else [],
        deps = _labels(deps),
        **kwargs
    )

def c_tests(*, name, common = "", deps = {}, target_compatible_with = {}):
    """Defines `<test>_lib` for each `<test>.c` of the folder whose name ends in `_test`: a main that needs a HAL.

    //boards/tests:unit_tests.bzl names it, and links it for the host, with sanitizers, and for boards.

    Args:
      name: unused; the libraries are named after the files.
      common: what every test depends on besides `bm_test`.
      deps: dict from a test to what it depends on besides. A file, such as `sqrt.c`, is one that it includes.
      target_compatible_with: dict from a test to this attribute of its library.
    """
    tests = [file.removesuffix(".c") for file in native.glob(["*_test.c"], allow_empty = False)]
    for test in deps.keys() + target_compatible_with.keys():
        if test not in tests:
            fail("{} is no test of this folder".format(test))
    for test in tests:
        words = deps.get(test, "").split(" ")
        included = [word for word in words if word.endswith(".c")]
        others = [word for word in words if word not in included]
        cc_library(
            name = test + "_lib",
            testonly = True,
            srcs = [test + ".c"],
            copts = BM_COPTS,
            target_compatible_with = target_compatible_with.get(test, []),
            textual_hdrs = included,
            deps = _labels(" ".join([common, "testing:bm_test"] + others)),
        )

def _labels(words):
    """Returns the labels of words, in buildifier's order, so that no image depends on how a BUILD file has them."""
    labels = [
        word if word.startswith((":", "//")) else "//runtime_bm/" + word
        for word in words.split(" ")
        if word
    ]

    # `:` comes before `/`.
    ordered = sorted(labels, key = lambda label: label.replace(":", " "))
    return [label if label.startswith(":") else Label(label) for label in ordered]
