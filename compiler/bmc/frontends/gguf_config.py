"""What a .gguf file says of a decoder: its architecture and sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.errors import BmcError
from bmc.gguf_file import GgufFile, Value, bad, shown

_MOST = 2**24  # no size of a model is larger
# Kinds of changed positions that are one factor for all, or none.
_SCALINGS = ("none", "linear")
# Keys that change nothing in what a model computes.
_IDLE = ("vocab_size", "rope.scaling.original_context_length", "rope.scaling.finetuned")


@dataclass(frozen=True, slots=True)
class Family:
    """What an architecture has that is not in the metadata.

    Attributes:
      interleaves: whether rows of queries and keys are stored so that pairs that turn together are neighbors.
      head_norms: whether queries and keys are normalized, each head by itself.
      post_norms: whether also the results of attention and network are normalized.
      scales_tokens: whether rows of the table of tokens are multiplied by the root of the width.
      is_gelu: whether gates are GELU by tanh, and not SiLU.
      period: every layer of this number sees all tokens, and the others only the last ones; 1: all see all.
    """

    interleaves: bool = False
    head_norms: bool = False
    post_norms: bool = False
    scales_tokens: bool = False
    is_gelu: bool = False
    period: int = 1


FAMILIES = {
    "gemma3": Family(head_norms=True, post_norms=True, scales_tokens=True, is_gelu=True, period=6),
    "llama": Family(interleaves=True),
    "qwen2": Family(),
    "qwen3": Family(head_norms=True),
}


@dataclass(frozen=True, slots=True)
class Config:
    """A decoder.

    Attributes:
      family: what is the same for all models of the architecture.
      layers: blocks of attention and a gated network.
      width: of what blocks pass on.
      hidden: width of the gated networks.
      heads: of queries.
      key_heads: of keys and values, each for heads / key_heads heads of queries.
      head_width: of one head.
      vocabulary: how many tokens there are.
      context: how many tokens the model was made for.
      epsilon: what normalizations add to a mean of squares.
      rope_base: positions turn pair i of a head by the angle position / rope_base ** (2 i / head_width), ...
      rope_divisor: ... divided by this.
      window: how many tokens a layer sees that does not see all, and ...
      window_rope_base: ... the base of its angles, which are divided by nothing.
    """

    family: Family
    layers: int
    width: int
    hidden: int
    heads: int
    key_heads: int
    head_width: int
    vocabulary: int
    context: int
    epsilon: float
    rope_base: float
    rope_divisor: float
    window: int
    window_rope_base: float

    def sees_all(self, layer: int) -> bool:
        return (layer + 1) % self.family.period == 0

    def for_transformers(self) -> dict[str, int]:
        """Returns what transformers takes from keys that a file need not have."""
        return {
            "vocab_size": self.vocabulary,
            "head_dim": self.head_width,
            "query_pre_attn_scalar": self.head_width,  # of Gemma
        }


def architecture(file: GgufFile) -> str:
    """Returns what a file calls its architecture; raises BmcError if it says none."""
    name = file.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise bad(file.name, "does not say its architecture")
    return name


def read(file: GgufFile) -> Config:
    """Reads the metadata; raises BmcError for an architecture that bmc does not know, or a value out of bounds."""
    name = architecture(file)
    if name not in FAMILIES:
        raise BmcError(
            "unsupported-model",
            f"'{file.name}' has the architecture {shown(name)}",
            hint=f"bmc knows {', '.join(sorted((*FAMILIES, 'gpt2')))}",
        )
    keys, family = Keys(file, name), FAMILIES[name]
    heads = keys.whole("attention.head_count")
    width = keys.whole("embedding_length")
    head_width = keys.whole("attention.key_length", max(width // heads, 1))
    config = Config(
        family=family,
        layers=keys.whole("block_count"),
        width=width,
        hidden=keys.whole("feed_forward_length"),
        heads=heads,
        key_heads=keys.whole("attention.head_count_kv", heads),
        head_width=head_width,
        vocabulary=vocabulary(file),
        context=keys.whole("context_length"),
        epsilon=keys.real("attention.layer_norm_rms_epsilon"),
        rope_base=keys.real("rope.freq_base", 10000.0),
        rope_divisor=_divisor(keys),
        window=0 if family.period == 1 else keys.whole("attention.sliding_window"),
        window_rope_base=10000.0,
    )
    if heads % config.key_heads:
        raise bad(file.name, f"has {heads} heads of queries for {config.key_heads} of keys")
    for key in ("rope.dimension_count", "attention.value_length"):
        if keys.whole(key, head_width) != head_width:
            raise keys.unsupported(key)
    if head_width % 2:
        raise bad(file.name, f"has heads of {head_width} elements, which are no pairs")
    keys.require_all_known()
    return config


def vocabulary(file: GgufFile) -> int:
    """Returns how many tokens there are; raises BmcError for a file without a table of them."""
    table = file.tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        raise bad(file.name, "has no table of tokens, token_embd.weight")
    return table.shape[0]


def _divisor(keys: Keys) -> float:
    kind = keys.get("rope.scaling.type", "none")
    if kind not in _SCALINGS:
        raise keys.unsupported("rope.scaling.type")
    return keys.real("rope.scaling.factor", 1.0) if kind == "linear" else 1.0


class Keys:
    """The keys of one architecture."""

    def __init__(self, file: GgufFile, architecture: str) -> None:
        self.file = file
        self.architecture = architecture
        self._known = set(_IDLE)

    def get(self, key: str, otherwise: Value | None) -> Value | None:
        self._known.add(key)
        return self.file.metadata.get(f"{self.architecture}.{key}", otherwise)

    def require_all_known(self) -> None:
        """Raises BmcError for a key that nobody has read: the model may be another than bmc takes it for."""
        prefix = f"{self.architecture}."
        for key in self.file.metadata:
            if key.startswith(prefix) and key.removeprefix(prefix) not in self._known:
                raise self.unsupported(key.removeprefix(prefix))

    def whole(self, key: str, otherwise: int | None = None) -> int:
        """Returns a number from 1 to 2^24, or `otherwise` if the file has none."""
        value = self.get(key, otherwise)
        if value is None:
            raise self._missing(key)
        if type(value) is not int or not 1 <= value <= _MOST:
            raise self._wrong(key)
        return value

    def real(self, key: str, otherwise: float | None = None) -> float:
        """Returns a finite number above 0, or `otherwise` if the file has none."""
        value = self.get(key, otherwise)
        if value is None:
            raise self._missing(key)
        if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type,operator]
            raise self._wrong(key)
        return float(value)  # type: ignore[arg-type]

    def unsupported(self, key: str) -> BmcError:
        """Returns the error for a value that bmc knows no arithmetic for."""
        return BmcError(
            "unsupported-model",
            f"'{self.file.name}' has {self._shown(key)}, which bmc does not compute",
            hint="write a model.py that loads the model with transformers",
        )

    def _missing(self, key: str) -> BmcError:
        return bad(self.file.name, f"lacks {self.architecture}.{key}")

    def _wrong(self, key: str) -> BmcError:
        return bad(self.file.name, f"has {self._shown(key)}, which is out of bounds")

    def _shown(self, key: str) -> str:
        value = self.file.metadata[f"{self.architecture}.{key}"]
        return f"{self.architecture}.{key} = {shown(str(value))}"
