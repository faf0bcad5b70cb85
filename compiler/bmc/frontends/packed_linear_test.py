"""Packed weights are unpacked as GGML does, by PyTorch and by IREE."""

from __future__ import annotations

import unittest

import gguf
import numpy as np
import torch

from bmc.frontends import gguf_super_blocks, packed_linear
from bmc.frontends.gguf_weights import packed

_TYPES = {
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
    "q4_1": gguf.GGMLQuantizationType.Q4_1,
    "q5_0": gguf.GGMLQuantizationType.Q5_0,
    "q5_1": gguf.GGMLQuantizationType.Q5_1,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}
_ROWS, _COLUMNS = 6, 96


class PackedTest(unittest.TestCase):
    def test_unpacked_weights_are_those_of_ggml(self) -> None:
        for name, kind in _TYPES.items():
            with self.subTest(name):
                stored, expected = _quantized(kind)
                table = packed_linear.PackedEmbedding(packed(name, stored, _ROWS))
                rows = torch.tensor([5, 0, 5])
                np.testing.assert_array_equal(table(rows).numpy(), expected[[5, 0, 5]])

    def test_products_are_with_the_unpacked_weights(self) -> None:
        x = torch.randn(2, _COLUMNS, generator=torch.Generator().manual_seed(0))
        bias = torch.arange(_ROWS).float()
        for name, kind in _TYPES.items():
            with self.subTest(name):
                stored, expected = _quantized(kind)
                layer = packed_linear.PackedLinear(packed(name, stored, _ROWS), bias)
                want = x @ torch.from_numpy(expected).T + bias
                torch.testing.assert_close(layer(x), want, rtol=0, atol=1e-5)

    def test_a_changed_bit_changes_a_weight(self) -> None:
        for name, kind in _TYPES.items():
            stored, expected = _quantized(kind)
            for place in range(stored.shape[1] // 3):
                with self.subTest(name, byte=place):
                    changed = stored.copy()
                    changed[2, place] ^= 1
                    table = packed_linear.PackedEmbedding(packed(name, changed, _ROWS))
                    got = table(torch.arange(_ROWS)).numpy()
                    np.testing.assert_array_equal(got, gguf.quants.dequantize(changed, kind))
                    self.assertFalse(np.array_equal(got, expected))

    def test_blocks_of_blocks_lose_nothing(self) -> None:
        for kind in gguf_super_blocks.KINDS:
            with self.subTest(kind.name):
                stored = _random_blocks(kind)
                expected = gguf.quants.dequantize(stored, kind)
                self.assertGreater(np.unique(expected).size, 900)
                table = packed_linear.PackedEmbedding(gguf_super_blocks.packed(kind, stored, _ROWS))
                np.testing.assert_array_equal(table(torch.arange(_ROWS)).numpy(), expected)


def _random_blocks(kind: gguf.GGMLQuantizationType) -> np.ndarray:
    """Returns any bytes [rows, bytes of 512 weights] but for the halves, which are small numbers."""
    random = np.random.default_rng(2)
    block_bytes = gguf.constants.GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(256, size=(_ROWS * 2, block_bytes), dtype=np.uint8)
    for place in (208,) if kind is gguf.GGMLQuantizationType.Q6_K else (0, 2):
        halves = random.normal(size=(len(blocks), 1)).astype(np.float16)
        blocks[:, place : place + 2] = halves.view(np.uint8)
    return blocks.reshape(_ROWS, -1)


def _quantized(kind: gguf.GGMLQuantizationType) -> tuple[np.ndarray, np.ndarray]:
    """Returns random weights as bytes [rows, bytes of a row], and what GGML's own code unpacks of them."""
    weights = np.random.default_rng(1).normal(size=(_ROWS, _COLUMNS)).astype(np.float32)
    stored = gguf.quants.quantize(weights, kind)
    return stored, gguf.quants.dequantize(stored, kind)


if __name__ == "__main__":
    unittest.main()
