"""bm_chat: a conversation with a language model at a serial terminal."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_flash.bzl", "bm_flash")
load("//tools/rules/private:bm_terminal.bzl", "bm_terminal")
load("//tools/rules/private:bm_tokenizer.bzl", "bm_tokenizer")
load("//tools/rules/private:chosen_board.bzl", "by_chosen_board")
load("//tools/rules/private:transitions.bzl", "CHOSEN_BOARD", "env_name", "import_transition", "tool_transition", "vlen_of_isa")

_QEMU = Label("//boards/qemu_virt_rv64")
_SPIKE = Label("//boards/spike_rv64")

def _settings_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".c")
    args = ctx.actions.args()
    args.add("chat", ctx.file.tokenizer)
    args.add("--name", ctx.attr.symbol)
    args.add("--place", ctx.label.package + "/" if ctx.label.package else "")
    args.add("--context", ctx.attr.context)
    args.add("--most-tokens", ctx.attr.most_tokens)
    if ctx.file.template:
        args.add("--template", ctx.file.template)

    # With `=`, as a value may begin with a dash.
    args.add_all(ctx.attr.stops, format_each = "--stop=%s")
    args.add_all(ctx.attr.stop_texts, format_each = "--stop-text=%s")
    args.add(ctx.attr.temperature, format = "--temperature=%s")
    args.add(ctx.attr.top_k, format = "--top-k=%s")
    args.add(ctx.attr.top_p, format = "--top-p=%s")
    args.add(ctx.attr.repetition_penalty, format = "--repetition-penalty=%s")
    args.add(ctx.attr.seed, format = "--seed=%s")
    args.add("--out", out)
    ctx.actions.run(
        mnemonic = "BmChat",
        progress_message = "Compiling the chat template of %{label}",
        executable = ctx.executable._text,
        arguments = [args],
        inputs = [ctx.file.tokenizer] + ([ctx.file.template] if ctx.file.template else []),
        outputs = [out],
        execution_requirements = {"block-network": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

_settings = rule(
    implementation = _settings_impl,
    doc = "The settings of a conversation, which are the same for every instruction set.",
    cfg = import_transition,
    attrs = {
        "context": attr.int(mandatory = True),
        "most_tokens": attr.int(mandatory = True),
        "repetition_penalty": attr.string(mandatory = True),
        "seed": attr.int(mandatory = True),
        "stop_texts": attr.string_list(),
        "stops": attr.string_list(),
        "symbol": attr.string(mandatory = True),
        "temperature": attr.string(mandatory = True),
        "template": attr.label(allow_single_file = [".gguf", ".json"]),
        "tokenizer": attr.label(allow_single_file = [".gguf", ".json"], mandatory = True),
        "top_k": attr.int(mandatory = True),
        "top_p": attr.string(mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_text": attr.label(default = "//tools/actions/text", executable = True, cfg = tool_transition),
    },
)

def bm_chat(
        *,
        name,
        model,
        tokenizer,
        context,
        template = None,
        stops = [],
        stop_texts = [],
        most_tokens = 512,
        temperature = "0",
        top_k = 0,
        top_p = "1",
        repetition_penalty = "1",
        seed = 0,
        isa = "rv64gcv_zvl256b",
        harts = 1,
        tags = [],
        **kwargs):
    """Makes firmware that answers what is typed at a serial terminal (`docs/how-to/text-on-the-target.md`).

    `bazel run` of `<name>` starts it in QEMU, of `<name>.spike` on Spike, and of `<name>.flash` puts it on the board
    that `--board` names.

    Args:
      name: name of the targets, such as `chat`. `<name>_tokenizer` is the tokenizer.
      model: bm_model with the entry points `prefill` and `decode`, each of which goes on behind the tokens that they took
        before, and returns the likeliest next token and the logits of all.
      tokenizer: a tokenizer.json, or a GGUF file.
      context: tokens that the model can take.
      template: a tokenizer_config.json or GGUF file with the chat template; without it, the model goes on with a text.
      stops: tokens that end an answer, besides the template's own end token.
      stop_texts: texts that end an answer, and are not printed.
      most_tokens: of an answer.
      temperature: of the sampling; 0 is always the likeliest token.
      top_k: tokens that are chosen from; 0 is all.
      top_p: probability that the tokens which are chosen from have together; 1 is all.
      repetition_penalty: factor by which tokens that have been there are less likely; 1 is none.
      seed: of the sampling.
      isa: ISA of the kernels in emulators.
      harts: number of harts there.
      tags: tags of the targets.
      **kwargs: attributes of all targets, e.g. visibility.
    """
    tags = tags + ["manual"]
    symbol = name + "_tokenizer"
    main = name + "._main"
    bm_tokenizer(name = symbol, src = tokenizer, tags = tags, **kwargs)
    _settings(
        name = name + "._settings",
        context = context,
        most_tokens = most_tokens,
        repetition_penalty = repetition_penalty,
        seed = seed,
        stop_texts = stop_texts,
        stops = stops,
        symbol = symbol,
        tags = tags,
        temperature = temperature,
        template = template,
        tokenizer = tokenizer,
        top_k = top_k,
        top_p = top_p,
        visibility = ["//visibility:private"],
    )
    cc_library(
        name = main,
        srcs = [name + "._settings"],
        tags = tags,
        deps = [
            symbol,
            Label("//runtime_bm/app:chat_main"),
        ],
        **kwargs
    )
    images = {
        name + ".qemu_image": (_QEMU, isa, harts),
        name + ".spike_image": (_SPIKE, isa, harts),
    } | {
        "{}.image._for_{}".format(name, board_isa): (CHOSEN_BOARD, board_isa, 1)
        for board_isa in ISAS
    }
    for image, (board, board_isa, count) in images.items():
        bm_firmware(
            name = image,
            board = board,
            expect = "EXIT",
            harts = count,
            isa = board_isa,
            main = main,
            models = [model],
            tags = tags,
            **kwargs
        )
    env = env_name(vlen_of_isa(isa), isa)
    for target, image, board in [(name, ".qemu_image", _QEMU), (name + ".spike", ".spike_image", _SPIKE)]:
        bm_terminal(
            name = target,
            exec_env = board.same_package_label(env),
            firmware = name + image,
            tags = tags,
            **kwargs
        )
    bm_flash(
        name = name + ".flash",
        firmware = by_chosen_board(
            lambda board_isa: "{}.image._for_{}".format(name, board_isa),
            name + ".qemu_image",
        ),
        tags = tags,
        **kwargs
    )
