"""bm_tokenizer: a tokenizer as tables in C."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/rules/private:transitions.bzl", "import_transition", "tool_transition")

_SUFFIXES = [".S", ".bin", ".c", ".h"]

def _tables_impl(ctx):
    outputs = [
        ctx.actions.declare_file("{}/{}{}".format(ctx.label.name, ctx.attr.symbol, suffix))
        for suffix in _SUFFIXES
    ]
    args = ctx.actions.args()
    args.add("tokenizer", ctx.file.src)
    args.add("--name", ctx.attr.symbol)
    args.add("--place", ctx.label.package + "/" if ctx.label.package else "")
    args.add("--out", outputs[0].dirname)
    ctx.actions.run(
        mnemonic = "BmTokenizer",
        progress_message = "Compiling the tokenizer %{label}",
        executable = ctx.executable._text,
        arguments = [args],
        inputs = [ctx.file.src],
        outputs = outputs,
        execution_requirements = {"block-network": "1"},
    )
    return [DefaultInfo(files = depset(outputs))]

_tables = rule(
    implementation = _tables_impl,
    doc = "The files of a tokenizer, which are the same for every instruction set.",
    cfg = import_transition,
    attrs = {
        "src": attr.label(allow_single_file = [".gguf", ".json"], mandatory = True),
        "symbol": attr.string(mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_text": attr.label(default = "//tools/actions/text", executable = True, cfg = tool_transition),
    },
)

def bm_tokenizer(*, name, src, tags = [], **kwargs):
    """Compiles a tokenizer for the target. `docs/how-to/text-on-the-target.md` says which ones there are.

    Makes a cc_library with the header `<package>/<name>.h`, which declares `<name>`, a bm_tokenizer_tables_t
    (`runtime_bm/text/tokenizer.h`).

    Args:
      name: name of the target, and of the tables in C.
      src: a `tokenizer.json`, the file of the package `tokenizers`, or a GGUF file.
      tags: tags of the targets.
      **kwargs: attributes of the library, e.g. visibility.
    """
    tables = name + "._tables"
    files = [name + suffix for suffix in _SUFFIXES]
    _tables(
        name = tables,
        src = src,
        symbol = name,
        tags = tags + ["manual"],
        visibility = ["//visibility:private"],
    )

    # Into the folder of the configuration in which a compiler looks for them.
    native.genrule(
        name = name + "._files",
        srcs = [tables],
        outs = files,
        cmd = "cp $(locations {}) $(RULEDIR)".format(tables),
        tags = tags + ["manual"],
        visibility = ["//visibility:private"],
    )
    cc_library(
        name = name,
        srcs = [file for file in files if file.endswith((".S", ".c"))],
        hdrs = [name + ".h"],
        copts = ["-Wa,-I$(GENDIR)"],
        linkstatic = True,
        tags = tags,
        textual_hdrs = [name + ".bin"],
        deps = [Label("//runtime_bm/text")],
        **kwargs
    )
