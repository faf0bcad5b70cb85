"""trained_tokenizer: a small tokenizer, and a program that encodes with its tables."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//tools/rules:defs.bzl", "bm_tokenizer")

def trained_tokenizer(*, name, kind = None, swap = False):
    """Makes `<name>.json`, the tables `<name>_tokenizer`, and the program `<name>_tokens`.

    Args:
      name: prefix of the targets.
      kind: function in trained.py; default: `name`.
      swap: whether two merges trade places.
    """
    native.genrule(
        name = name + "._trained",
        outs = [name + ".json"],
        cmd = "$(execpath :trained) {} $@{}".format(kind or name, " --swap" if swap else ""),
        tags = ["manual"],
        tools = [":trained"],
    )
    bm_tokenizer(
        name = name + "_tokenizer",
        src = name + ".json",
        tags = ["manual"],
    )
    cc_binary(
        name = name + "_tokens",
        srcs = ["tokens.c"],
        local_defines = ["TABLES={}_tokenizer".format(name)],
        tags = ["manual"],
        deps = [
            name + "_tokenizer",
            "//runtime_bm/text",
        ],
    )
