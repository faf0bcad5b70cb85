"""tokens_program: a program that encodes with the tables of a tokenizer. trained_tokenizer: the same of a small one."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//tools/rules:defs.bzl", "bm_tokenizer")

def trained_tokenizer(*, name, kind = None, swap = False):
    """Makes `<name>.json`, and what tokens_program() makes of it.

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
    tokens_program(name = name, src = name + ".json")

def tokens_program(*, name, src):
    """Makes the tables `<name>_tokenizer`, and the program `<name>_tokens`.

    Args:
      name: prefix of the targets.
      src: a tokenizer.json or a GGUF file.
    """
    bm_tokenizer(
        name = name + "_tokenizer",
        src = src,
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
