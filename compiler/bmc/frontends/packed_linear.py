"""Linear layers and embeddings whose weights stay as packed as GGML's formats have them, in blocks along the sum.

Their forward() unpacks the weights with integer ops of PyTorch, to f32 and exactly as GGML does. What lowers a model
recognizes these ops, so their order matters (packed_linear_test.py). A block of 32 weights w is, for files of GGML,

| Format | Codes of a block | Highs of a block | w |
| --- | --- | --- | --- |
| q4_0 | uint8 [16] | | (code - 8) * scale |
| q4_1 | uint8 [16] | | code * scale + min |
| q5_0 | uint8 [16] | uint8 [4] | (code - 16) * scale |
| q5_1 | uint8 [16] | uint8 [4] | code * scale + min |
| q8_0 | int8 [32] | | code * scale |

Codes of four bits are two in a byte: element i is the low half of byte i, element 16 + i its high half. Bit i % 8 of
byte i // 8 of the highs is the fifth bit of element i. Scales and least values may also be f32, and a block of q8_0
may have another number of weights (gguf_super_blocks.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Format:
    """How a block of 32 weights is stored.

    Attributes:
      code_bytes: bytes of a block's codes, 16 for codes of four bits.
      high_bytes: bytes of the fifth bits, or 0.
      zero: the code of the weight 0, which is subtracted.
      has_mins: whether each block has a least value, which is added.
    """

    code_bytes: int
    high_bytes: int = 0
    zero: int = 0
    has_mins: bool = False


# Weights in a block of a format with codes of four bits.
BLOCK = 32
FORMATS = {
    "q4_0": Format(16, zero=8),
    "q4_1": Format(16, has_mins=True),
    "q5_0": Format(16, high_bytes=4, zero=16),
    "q5_1": Format(16, high_bytes=4, has_mins=True),
    "q8_0": Format(32),
}


@dataclass(frozen=True, slots=True)
class Packed:
    """Weights [rows, columns] in blocks of columns.

    Attributes:
      format: a key of FORMATS.
      codes: uint8 [rows, columns / 32, 16], or int8 [rows, columns / block, block] of q8_0.
      scales: f16 or f32 [rows, columns / block].
      mins: as scales, if the format has them.
      highs: uint8 [rows, columns / 32, 4], if the format has them.
    """

    format: str
    codes: torch.Tensor
    scales: torch.Tensor
    mins: torch.Tensor | None = None
    highs: torch.Tensor | None = None


class _Table(torch.nn.Module):  # type: ignore[misc]
    """Packed weights as buffers."""

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        self.format = packed.format
        self.register_buffer("codes", packed.codes)
        self.register_buffer("scales", packed.scales)
        self.register_buffer("mins", packed.mins)
        self.register_buffer("highs", packed.highs)


class PackedLinear(_Table):
    """Multiplies by packed weights: f32 [..., columns] to f32 [..., rows].

    Attributes:
      rounds: whether its inputs are rounded to bytes first, each block of 32 of a row with a factor of its own.
    """

    def __init__(self, packed: Packed, bias: torch.Tensor | None = None) -> None:
        super().__init__(packed)
        self.rounds = False
        self.register_buffer("bias", bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps f32 [..., columns] to f32 [..., rows]."""
        if self.rounds:
            x = rounded(x)
        weight = unpack(self.format, self.codes, self.scales, self.mins, self.highs)
        product = x @ weight.T
        return product if self.bias is None else product + self.bias


class PackedEmbedding(_Table):
    """Looks up rows of packed weights, and unpacks only these."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Maps integers [n] to f32 [n, columns]."""
        tables = (self.codes, self.scales, self.mins, self.highs)
        return unpack(self.format, *(None if t is None else t[rows] for t in tables))


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Returns f32 [..., columns] as bytes from -127 to 127 times a factor for each block."""
    blocks = x.unflatten(-1, (-1, BLOCK))
    # Of a block of zeros, anything but zero.
    factors = (blocks.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-30)
    codes = torch.round(blocks / factors).clamp(-127, 127).to(torch.int8)
    return (codes.float() * factors).flatten(-2)


def unpack(
    format_name: str,
    codes: torch.Tensor,
    scales: torch.Tensor,
    mins: torch.Tensor | None,
    highs: torch.Tensor | None,
) -> torch.Tensor:
    """Returns packed weights as f32 [rows, columns]; the arguments are those of Packed."""
    packing = FORMATS[format_name]
    if format_name == "q8_0":
        values = codes.float()
    else:
        # int32, because torch-mlir takes unsigned bytes for signed ones here and there.
        halves = codes.int().unsqueeze(-2) >> torch.tensor([[0], [4]], dtype=torch.int32)
        numbers = (halves & 15).flatten(-2)
        if highs is not None:
            bits = highs.int().unsqueeze(-1) >> torch.arange(8, dtype=torch.int32)
            numbers = numbers | ((bits & 1) << 4).flatten(-2)
        values = (numbers - packing.zero).float() if packing.zero else numbers.float()
    weights = values * scales.float().unsqueeze(-1)
    if mins is not None:
        weights = weights + mins.float().unsqueeze(-1)
    return weights.flatten(-2)
