"""The metadata of .gguf files: bounds, and keys that change the arithmetic."""

from __future__ import annotations

import unittest

import numpy as np
import support
from gguf import GGMLQuantizationType as Kind

from bmc.frontends import gguf_config
from bmc.gguf_file import GgufFile, Tensor, Value

_SOUND: dict[str, Value] = {
    "block_count": 1,
    "context_length": 64,
    "embedding_length": 12,
    "feed_forward_length": 8,
    "attention.head_count": 3,
    "attention.layer_norm_rms_epsilon": 1e-5,
}


def _file(changes: dict[str, Value | None]) -> GgufFile:
    metadata: dict[str, Value] = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2"}
    for key, value in (_SOUND | changes).items():
        if value is not None:
            metadata[f"llama.{key}"] = value
    table = Tensor("token_embd.weight", Kind.F32, (7, 12), 0, 336)
    return GgufFile("m.gguf", metadata, {table.name: table}, np.zeros(336, np.uint8))


class ConfigTest(support.FolderTest):
    def test_what_is_not_said_has_a_default(self) -> None:
        found = gguf_config.read(_file({}))
        self.assertEqual((7, 3, 4), (found.vocabulary, found.key_heads, found.head_width))
        self.assertEqual(10000.0, found.rope_base)

    def test_values_that_fit_no_model(self) -> None:
        cases: dict[str, dict[str, Value | None]] = {
            "lacks llama.block_count": {"block_count": None},
            "block_count = '0', which is out of bounds": {"block_count": 0},
            "block_count = '16777217'": {"block_count": 2**24 + 1},
            "block_count = 'True'": {"block_count": True},
            "block_count = '1.0'": {"block_count": 1.0},
            "head_count = '(1, 2)'": {"attention.head_count": (1, 2)},
            "epsilon = 'nan'": {"attention.layer_norm_rms_epsilon": float("nan")},
            "epsilon = 'small'": {"attention.layer_norm_rms_epsilon": "small"},
            "heads of 1 elements": {"attention.head_count": 100},
            "3 heads of queries for 2 of keys": {"attention.head_count_kv": 2},
        }
        for words, changes in cases.items():
            with self.subTest(words):
                file = _file(changes)
                self.refuses("bad-file", words, call=lambda file=file: gguf_config.read(file))

    def test_keys_that_nothing_reads(self) -> None:
        for key, value in (("expert_count", 4), ("rope.scaling.type", "longrope")):
            file = _file({key: value})
            self.refuses(
                "unsupported-model",
                f"llama.{key} = '{value}'",
                call=lambda file=file: gguf_config.read(file),
            )
        gguf_config.read(_file({"vocab_size": 7}))


if __name__ == "__main__":
    unittest.main()
