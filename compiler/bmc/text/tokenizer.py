"""A tokenizer as it is compiled: what every reader makes of its source, and what is written for the target.

The numbers of enumerations are those of runtime_bm/text/tables.h.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from bmc.text.patterns import Alternative

# What SentencePiece writes for a space.
MARK = "\u2581"


@dataclass(frozen=True)
class Map:
    """Each of some characters becomes a text; `hangul`: syllables are taken apart too."""

    changes: dict[int, str]
    hangul: bool = False


@dataclass(frozen=True)
class Order:
    """Marks are put in canonical order."""


@dataclass(frozen=True)
class Compose:
    """Pairs of characters become one, where Unicode has it."""


@dataclass(frozen=True)
class Replace:
    text: str
    by: str


@dataclass(frozen=True)
class Prepend:
    """A text comes first, unless another one does already; `only_first`: at the beginning of the whole text alone."""

    text: str
    unless: str = ""
    only_first: bool = False


@dataclass(frozen=True)
class Strip:
    left: bool
    right: bool


Normalizer = Map | Order | Compose | Replace | Prepend | Strip


@dataclass(frozen=True)
class Stage:
    """A split of each piece: matches of the alternatives, and what is between them, are pieces if they are kept."""

    alternatives: tuple[Alternative, ...]
    keep_matches: bool = True
    keep_gaps: bool = True


@dataclass(frozen=True)
class Bpe:
    """Byte pair encoding.

    Attributes:
      merges: left token, right token, what they become; in the order in which they were learned.
      byte_tokens: the token of each byte, -1 for one without; empty if bytes have none.
      of_bytes: whether pieces are divided into bytes, and not into characters.
      whole: whether a piece that is a token stays whole.
      fuse_unknown: whether unknown characters in a row are one token.
    """

    merges: tuple[tuple[int, int, int], ...]
    byte_tokens: tuple[int, ...]
    of_bytes: bool
    whole: bool
    fuse_unknown: bool


@dataclass(frozen=True)
class WordPiece:
    continuing: str
    longest_word: int


@dataclass(frozen=True)
class Unigram:
    scores: tuple[float, ...]
    unknown_score: float


@dataclass(frozen=True)
class Added:
    """A token that is found in a text before the text is split."""

    text: str
    id: int
    special: bool
    left: bool
    right: bool


class Decoding(enum.Enum):
    """How the texts of tokens are joined."""

    BYTES = "bytes"
    # Marks are spaces; the first one is left out, or all in the first token.
    MARKS = "marks"
    MARKS_BUT_ONE = "marks but one"
    MARKS_BUT_FIRST = "marks but the first token's"
    NONE = "none"


@dataclass(frozen=True)
class Tokenizer:
    """Attributes:
    tokens: the text of each token, by id.
    searched: ids of those that a text is compared with.
    unknown: id; None if unknown characters are left out.
    """

    model: Bpe | WordPiece | Unigram
    tokens: tuple[bytes, ...]
    searched: tuple[int, ...]
    unknown: int | None
    added: tuple[Added, ...] = ()
    normalizers: tuple[Normalizer, ...] = ()
    added_normalized: tuple[Added, ...] = ()
    segment_normalizers: tuple[Normalizer, ...] = ()
    stages: tuple[Stage, ...] = ()
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    decoding: Decoding = Decoding.NONE
    specials: tuple[int, ...] = field(default=())
