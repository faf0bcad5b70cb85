"""Texts for tokenizers: characters of all categories of Unicode, pieces of a vocabulary, what is hard to split."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence

_SURROGATES = range(0xD800, 0xE000)
_SPACES = (" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003", "\u0085", "\u200b", "\x1f")
# What patterns and normalizers treat in their own way.
_HARD = (
    "'s", "'T", "'ll", "'Ve", "'\u017f", "don't", "I'M", "can\u2019t", "1234567", "3.14", "\u0661\u0662\u0663",
    "\u00bd", "\u2167", "na\u00efve", "nai\u0308ve", "\u1e9b\u0323", "\u0130stanbul", "\u00df", "\ufb01", "\u01c5",
    "\uac00\uac01", "\u1100\u1161\u11a8", "\u4f60\u597d\uff0c\u4e16\u754c", "\u3053\u3093\u306b\u3061\u306f",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\U0001f44d\U0001f3fd",
    "a\u0301\u0327\u0345", "\u0344\u0345", "q\u0307\u0323", "\U0001d165\U0001d16e", "\U0001d400", "\ufffd", "\x00",
    "\ue000", "\U000f0000", "\U0010ffff", "\u2581", "\u2581\u2581a", "<0x0A>", "##ing", "[UNK]", "x = y++;",
    "def f(a, b):\n    return a\n", "https://example.org/?q=1&r=%20", "\u00a1\u00bf", "\u2028", "\ufeff",
)  # fmt: skip


def categories() -> dict[str, str]:
    """Returns the characters of each category of Unicode."""
    found: dict[str, list[str]] = {}
    for number in range(0x110000):
        if number not in _SURROGATES:
            found.setdefault(unicodedata.category(chr(number)), []).append(chr(number))
    return {category: "".join(some) for category, some in found.items()}


def strings(pieces: Sequence[str], specials: Sequence[str], seed: int) -> Iterator[str]:
    """Yields texts without end; the same for the same arguments.

    Args:
      pieces: the tokens of a vocabulary, as texts.
      specials: tokens that are found in texts.
      seed: a number.
    """
    rng = random.Random(seed)
    by_category = categories()
    names = sorted(by_category)

    def character() -> str:
        return rng.choice(by_category[rng.choice(names)])

    def ordinary() -> str:
        return rng.choice(by_category[rng.choice(("Ll", "Lu", "Nd", "Po", "Zs", "Ll"))])

    kinds: tuple[Callable[[], str], ...] = (
        lambda: "".join(character() for _ in range(rng.randint(1, 24))),
        lambda: "".join(ordinary() for _ in range(rng.randint(1, 24))),
        lambda: "".join(chr(rng.randint(0, 0x7F)) for _ in range(rng.randint(1, 40))),
        lambda: "".join(rng.choice(pieces) for _ in range(rng.randint(1, 12))),
        lambda: " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 12))),
        lambda: rng.randbytes(rng.randint(1, 60)).decode("utf-8", "replace"),
        lambda: rng.randbytes(rng.randint(1, 60)).decode("latin-1"),
        lambda: "".join(rng.choice(_HARD) for _ in range(rng.randint(1, 6))),
        lambda: rng.choice(_SPACES) * rng.choice((1, 2, 3, 7, 16, 65)),
        lambda: character() * rng.choice((1, 2, 3, 17, 40)),
        lambda: rng.choice(specials) if specials else "",
    )
    while True:
        yield "".join(
            rng.choice(kinds)() + rng.choice(("", "", "", *_SPACES))
            for _ in range(rng.choice((1, 1, 2, 3, 5)))
        )
