"""Tensors of .gguf files as PyTorch's modules: quantized ones stay packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gguf import quants
from gguf.constants import GGMLQuantizationType

from bmc import golden
from bmc.errors import BmcError
from bmc.frontends import gguf_super_blocks, packed_linear
from bmc.frontends.packed_linear import Packed, PackedEmbedding, PackedLinear
from bmc.gguf_file import GgufFile, Tensor, bad, shown

_HALF = 2  # bytes of a scale
_FORMAT_OF = {
    GGMLQuantizationType.Q4_0: "q4_0",
    GGMLQuantizationType.Q4_1: "q4_1",
    GGMLQuantizationType.Q5_0: "q5_0",
    GGMLQuantizationType.Q5_1: "q5_1",
    GGMLQuantizationType.Q8_0: "q8_0",
}
_FLOATS = (
    GGMLQuantizationType.F32,
    GGMLQuantizationType.F16,
    GGMLQuantizationType.BF16,
)


class Weights:
    """The tensors of a file, which a model takes one after another.

    Attributes:
      unpacked: names of the quantized tensors that became f32, because nothing here keeps them packed.
    """

    def __init__(self, file: GgufFile) -> None:
        self._file = file
        self._taken: set[str] = set()
        self.unpacked: list[str] = []

    def has(self, name: str) -> bool:
        return name in self._file.tensors

    def vector(self, name: str, size: int) -> torch.Tensor:
        """Returns a tensor [size] of f32."""
        found = self._take(name, (size,))
        if found.kind not in _FLOATS:
            raise self._wrong(found, "is no vector of floats")
        return self._floats(found)

    def linear(
        self,
        name: str,
        rows: int,
        columns: int,
        order: npt.NDArray[np.int64] | None = None,
    ) -> torch.nn.Module:
        """Returns the layer f32 [..., columns] to [..., rows] of NAME.weight, and NAME.bias if the file has one.

        Args:
          name: of the layer.
          rows, columns: its shape.
          order: which row of the file each row is.
        """
        bias = self.vector(f"{name}.bias", rows) if self.has(f"{name}.bias") else None
        if bias is not None and order is not None:
            bias = bias[order]
        table = self._table(f"{name}.weight", rows, columns, order)
        if isinstance(table, Packed):
            return PackedLinear(table, bias)
        layer = torch.nn.Linear(columns, rows, bias=bias is not None, device="meta")
        layer.weight = torch.nn.Parameter(table, requires_grad=False)
        if bias is not None:
            layer.bias = torch.nn.Parameter(bias, requires_grad=False)
        return layer

    def embedding(
        self, name: str, rows: int, columns: int, is_head: bool
    ) -> tuple[torch.nn.Module, torch.nn.Module | None]:
        """Returns the table NAME.weight to look up rows in, and if `is_head` the layer that multiplies by it."""
        table = self._table(f"{name}.weight", rows, columns, None)
        if isinstance(table, Packed):
            return PackedEmbedding(table), PackedLinear(table) if is_head else None
        embedding = torch.nn.Embedding.from_pretrained(table)
        head = torch.nn.Linear(columns, rows, bias=False, device="meta")
        head.weight = embedding.weight
        return embedding, head if is_head else None

    def require_all_taken(self) -> None:
        """Raises BmcError for a tensor that no part of the model is made of."""
        for name in self._file.tensors:
            if name not in self._taken:
                raise BmcError(
                    "unsupported-model",
                    f"'{self._file.name}' has the tensor {shown(name)}, which bmc has no use for",
                    hint="write a model.py that loads the model with transformers",
                )

    def _take(self, name: str, shape: tuple[int, ...]) -> Tensor:
        found = self._file.tensors.get(name)
        if found is None:
            raise bad(self._file.name, f"lacks the tensor {shown(name)}")
        if found.shape != shape:
            given, wanted = ("x".join(map(str, each)) for each in (found.shape, shape))
            raise self._wrong(found, f"is {given} where its metadata make it {wanted}")
        self._taken.add(name)
        return found

    def _table(
        self, name: str, rows: int, columns: int, order: npt.NDArray[np.int64] | None
    ) -> Packed | torch.Tensor:
        found = self._take(name, (rows, columns))
        stored = self._file.bytes_of(found).reshape(rows, -1)
        stored = stored if order is None else stored[order]
        format_name = _FORMAT_OF.get(found.kind)
        if format_name or found.kind in gguf_super_blocks.KINDS:
            table = (
                packed(format_name, stored, rows)
                if format_name
                else gguf_super_blocks.packed(found.kind, stored, rows)
            )
            for scales in (table.scales, table.mins):
                if scales is not None:
                    golden.check_finite(name, scales.numpy())
            return table
        if found.kind not in _FLOATS:
            self.unpacked.append(name)
        return self._floats(found, stored)

    def _floats(self, found: Tensor, stored: npt.NDArray[np.uint8] | None = None) -> torch.Tensor:
        data = self._file.bytes_of(found) if stored is None else stored
        try:
            array = quants.dequantize(data.reshape(-1), found.kind)
        except NotImplementedError:
            raise self._wrong(
                found, f"is of the type {found.kind.name}, which is not supported"
            ) from None
        array = np.array(array, np.float32).reshape(found.shape)
        golden.check_finite(found.name, array)
        return torch.from_numpy(array)

    def _wrong(self, tensor: Tensor, what: str) -> BmcError:
        return bad(self._file.name, f"has the tensor {shown(tensor.name)}, which {what}")


def packed(format_name: str, stored: npt.NDArray[np.uint8], rows: int) -> Packed:
    """Takes blocks apart: a block is its scale, least value, fifth bits and codes, of those that the format has.

    Args:
      format_name: a key of packed_linear.FORMATS.
      stored: the tensor's bytes, row after row.
      rows: how many rows these are.
    """
    form = packed_linear.FORMATS[format_name]
    sizes = (_HALF, _HALF * form.has_mins, form.high_bytes, form.code_bytes)
    blocks = stored.reshape(rows, -1, sum(sizes))
    ends = np.cumsum(sizes)
    scales, mins, highs, codes = (
        np.array(blocks[:, :, end - size : end], order="C")
        for end, size in zip(ends, sizes, strict=True)
    )

    def halves(each: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(each.view(np.float16)[:, :, 0])

    return Packed(
        format_name,
        torch.from_numpy(codes.view(np.int8) if format_name == "q8_0" else codes),
        halves(scales),
        halves(mins) if form.has_mins else None,
        torch.from_numpy(highs) if form.high_bytes else None,
    )
