"""Compiles tokenizers and chat templates for the target.

examples:
  text tokenizer tokenizer.json --name words --out OUT
  text chat tokenizer.json --name words --template tokenizer_config.json --context 2048 --out settings.c

The first writes NAME.c, NAME.h, NAME.S and NAME.bin to a folder, the second the settings of a conversation.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bmc.errors import BmcError
from bmc.text import chat_c, chat_template, sources, tables
from tools import cli


@cli.program("text", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    commands = parser.add_subparsers(dest="command", required=True)
    tokenizer = commands.add_parser("tokenizer", help="a tokenizer as tables")
    chat = commands.add_parser("chat", help="the settings of a conversation")
    for command in (tokenizer, chat):
        command.add_argument("source", type=Path, help="a tokenizer.json or a GGUF file")
        command.add_argument("--name", required=True, help="name of the tables in C")
        command.add_argument(
            "--place", default="", help="folder where a compiler finds their files"
        )
        command.add_argument("--out", type=Path, required=True)
    chat.add_argument("--template", type=Path, help="a tokenizer_config.json or a GGUF file")
    chat.add_argument("--context", type=int, required=True, help="tokens that the model can take")
    chat.add_argument("--most-tokens", type=int, default=512, help="of an answer")
    chat.add_argument("--stop", action="append", default=[], help="token that ends an answer")
    chat.add_argument("--stop-text", action="append", default=[], help="text that ends an answer")
    chat.add_argument("--temperature", type=float, default=0.0)
    chat.add_argument("--top-k", type=int, default=0)
    chat.add_argument("--top-p", type=float, default=1.0)
    chat.add_argument("--repetition-penalty", type=float, default=1.0)
    chat.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)
    try:
        made = sources.tokenizer(options.source)
        if options.command == "tokenizer":
            tables.write(made, options.name, options.place, options.out)
        else:
            options.out.write_text(chat_c.source(_settings(options), made))
    except BmcError as error:
        raise cli.UserError(str(error)) from error
    return 0


def _settings(options: argparse.Namespace) -> chat_c.Settings:
    template, stops = chat_template.NONE, list(options.stop)
    if options.template:
        template, end = sources.template(options.template)
        stops += [end] if end else []
    return chat_c.Settings(
        tokenizer=options.name,
        place=options.place,
        template=template,
        stops=tuple(dict.fromkeys(stops)),
        stop_texts=tuple(options.stop_text),
        context=options.context,
        most_tokens=options.most_tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
