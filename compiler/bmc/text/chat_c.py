"""The settings of a conversation as C (runtime_bm/app/chat.h)."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.emit import c_text
from bmc.errors import BmcError
from bmc.text.chat_template import ChatTemplate
from bmc.text.tokenizer import Tokenizer

# The longest line that somebody types, in bytes.
_LINE = 512


@dataclass(frozen=True)
class Settings:
    """Attributes:
    tokenizer: its name in C.
    place: the folder of its header, ending with "/", or "".
    stops: texts of tokens that end an answer.
    stop_texts: texts that end it.
    context: tokens that the model can take.
    most_tokens: of an answer.
    """

    tokenizer: str
    place: str
    template: ChatTemplate
    stops: tuple[str, ...]
    stop_texts: tuple[str, ...]
    context: int
    most_tokens: int
    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    seed: int


def source(settings: Settings, tokenizer: Tokenizer) -> str:
    """Returns the C file that defines bm_chat_settings; raises BmcError if a setting cannot be."""
    _check(settings)
    longest = max(map(len, tokenizer.tokens))
    texts = [text.encode() for text in settings.stop_texts]
    template = settings.template
    around = max(len(template.first.encode()), len(template.next.encode()))
    text_bytes = around + _LINE + len(template.answer.encode())
    piece = 3 * (longest + 4) + 2 * max(map(len, texts), default=0)
    stops = [_token(tokenizer, text) for text in settings.stops]
    name = settings.tokenizer
    # Normalization may make a text longer: to three times its bytes, as for compatible characters.
    scratch = f"BM_TOKENIZER_SCRATCH_BYTES({3 * text_bytes})"
    return "".join(
        (
            f'// {c_text.BANNER}\n#include "runtime_bm/app/chat.h"\n\n',
            f'#include "{settings.place}{name}.h"\n\n',
            c_text.packed_array("static const uint32_t k_stops", stops),
            c_text.array("static const char *const k_stop_texts", map(_string, texts)),
            f"static char line[{_LINE}];\nstatic char text[{text_bytes}];\n",
            f"static char piece[{piece}];\nstatic uint32_t tokens[{settings.context}];\n",
            f"static uint32_t order[{len(tokenizer.tokens)}];\n",
            f"static uint8_t scratch[{scratch}] __attribute__((aligned(8)));\n\n",
            "const bm_chat_settings_t bm_chat_settings = {\n",
            f"    .tokenizer = &{name},\n",
            f"    .first = {_string(template.first.encode())},\n",
            f"    .answer = {_string(template.answer.encode())},\n",
            f"    .next = {_string(template.next.encode())},\n",
            f"    .stops = {'k_stops' if stops else '0'},\n    .stop_count = {len(stops)},\n",
            f"    .stop_texts = {'k_stop_texts' if texts else '0'},\n",
            f"    .stop_text_count = {len(texts)},\n    .context = {settings.context}u,\n",
            f"    .most_tokens = {settings.most_tokens}u,\n",
            f"    .sampling = {{{_float(settings.temperature)}, {settings.top_k}u,"
            f" {_float(settings.top_p)}, {_float(settings.repetition_penalty)}}},\n",
            f"    .seed = {settings.seed}u,\n    .line = {{line, sizeof(line)}},\n",
            "    .text = {text, sizeof(text)},\n    .piece = {piece, sizeof(piece)},\n",
            "    .tokens = tokens,\n    .order = order,\n",
            "    .scratch = {scratch, sizeof(scratch)},\n};\n",
        )
    )


def _check(settings: Settings) -> None:
    wrong = ""
    if not 0 < settings.context < 1 << 24:
        wrong = f"a context of {settings.context} tokens: give those that the model can take"
    elif settings.most_tokens < 1:
        wrong = f"answers of {settings.most_tokens} tokens: let them have one at least"
    elif not 0 <= settings.temperature <= 100:
        wrong = (
            f"the temperature {settings.temperature}: it is from 0, always the likeliest, to 100"
        )
    elif not 0 < settings.top_p <= 1:
        wrong = f"top_p = {settings.top_p}: it is above 0, and up to 1 for all tokens"
    elif not 0 < settings.repetition_penalty <= 100:
        wrong = (
            f"the repetition penalty {settings.repetition_penalty}: it is above 0, and 1 for none"
        )
    elif not 0 <= settings.top_k < 1 << 32 or not 0 <= settings.seed < 1 << 32:
        wrong = "a top_k or seed that is negative or above 32 bits"
    elif "" in settings.stop_texts:
        wrong = "a stop text without a character"
    if wrong:
        raise BmcError("bad-chat-setting", f"a conversation cannot have {wrong}")


def _token(tokenizer: Tokenizer, text: str) -> int:
    for token in (*tokenizer.added, *tokenizer.added_normalized):
        if token.text == text:
            return token.id
    if text.encode() in tokenizer.tokens:
        return tokenizer.tokens.index(text.encode())
    raise BmcError(
        "bad-chat-setting",
        f"the tokenizer has no token {text!r}, which is to end an answer",
        hint="name one of its added tokens, or use stop_texts",
    )


def _string(text: bytes) -> str:
    """Returns a C string of any bytes but 0, each in octal unless it is a letter, a digit or a space."""
    plain = {*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), 0x20}
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text) + '"'


def _float(value: float) -> str:
    text = repr(float(value))
    return (text if "." in text or "e" in text else text + ".0") + "f"
