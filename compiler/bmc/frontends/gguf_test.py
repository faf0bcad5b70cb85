"""Imports small language models from .gguf files; IREE's host runtime must agree with transformers."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any
from unittest import mock

import gguf_kit
import numpy as np
import support
from gguf import GGMLQuantizationType as Kind
from gguf_kit import Small

from bmc.artifacts import ImportedModel

_SHORT: dict[str, Any] = {"context": 16, "shapes": {"tokens": (4,)}}


class GgufTest(support.ModelFileTest):
    SUFFIX = ".gguf"

    def written(self, model: Small) -> bytes:
        return gguf_kit.write(self.folder / "written.gguf", model).read_bytes()

    def imported(self, model: Small, **options: Any) -> ImportedModel:
        imported = self.load(self.written(model), **(_SHORT | options))
        self.agrees(imported)
        return imported

    def test_llama(self) -> None:
        model = self.imported(Small(layers=2))
        self.assertEqual(["prefill", "decode"], [s.name for s in model.signatures])
        self.describes(
            model,
            "tokens: 4xi64",
            "output0: 1xi64",
            "output1: 1x300xf32",
        )
        calls = model.golden.calls
        self.assertEqual([0, 1], [call.entry for call in calls][:2])
        self.assertEqual([True, *[False] * (len(calls) - 1)], [call.reset for call in calls])
        # What is generated is fed back.
        self.assertEqual(model.golden.outputs[1][0], model.golden.inputs[2][0])
        # Weights stay packed, with 20 bytes for a block of Q4_1 and 34 of Q8_0.
        stored = sum(
            int(np.prod(p.shape)) * np.dtype(p.dtype).itemsize
            for p in model.parameters
            if p.name.rpartition(".")[2] in ("codes", "scales", "mins")
        )
        elements = 2 * 64 * (64 * 2 + 32 * 2 + 96 * 3)
        self.assertEqual(elements // 32 * 20 + 300 * 64 // 32 * 34, stored)

    def test_floats_an_untied_head_and_changed_frequencies(self) -> None:
        self.imported(
            Small(
                linear=Kind.F16,
                embedding=Kind.F32,
                is_tied=False,
                frequencies=True,
                metadata={
                    "rope.freq_base": 500000.0,
                    "rope.dimension_count": 32,
                    "attention.key_length": 32,
                },
            )
        )

    def test_gpt2(self) -> None:
        data = gguf_kit.write_gpt2(self.folder / "gpt2.gguf").read_bytes()
        self.agrees(self.load(data, **_SHORT))

    def test_qwen2_with_scaled_positions(self) -> None:
        scaling: dict[str, float | int | str] = {
            "rope.scaling.type": "linear",
            "rope.scaling.factor": 4.0,
        }
        self.imported(Small("qwen2", biases=True, metadata=scaling))

    def test_qwen3_in_other_formats(self) -> None:
        self.imported(
            Small(
                "qwen3",
                linear=Kind.Q5_0,
                embedding=Kind.Q4_0,
                head_norms=True,
                metadata={"attention.key_length": 32},
            )
        )

    def test_gemma3(self) -> None:
        # Of six layers the last one sees all tokens.
        self.imported(
            Small(
                "gemma3",
                layers=6,
                head_norms=True,
                post_norms=True,
                metadata={
                    "attention.key_length": 32,
                    "attention.sliding_window": 3,
                    "rope.freq_base": 1000000.0,
                    "rope.scaling.type": "linear",
                    "rope.scaling.factor": 8.0,
                },
            )
        )

    def test_prompts_of_the_user(self) -> None:
        model = self.load(
            self.written(Small()),
            "return Cases(((np.arange(9),), (np.arange(5) + 7,)), Tolerance(1e-3, 1e-3))",
            shapes={"tokens": (4,)},
        )
        self.agrees(model)
        # The default is less than the file's 1,024.
        self.assertIn((512, 8), [p.shape for p in model.parameters if p.name == "turns.cosines"])
        firsts = [i for i, call in enumerate(model.golden.calls) if call.reset]
        self.assertEqual(2, len(firsts))
        given = [case[0].tolist() for case in model.golden.inputs]
        self.assertEqual([[0, 1, 2, 3], [4, 5, 6, 7], [8]], given[:3])
        self.assertEqual([[7, 8, 9, 10], [11]], given[firsts[1] : firsts[1] + 2])

    def test_prompts_that_do_not_fit(self) -> None:
        for case in ("np.arange(3)", "np.arange(16)", "np.arange(8.0)", "np.zeros((2, 4), int)"):
            with self.subTest(case):
                self.rejects(
                    "bad-inputs",
                    "4 to 15 tokens",
                    data=self.written(Small()),
                    cases=f"return Cases((({case},),), Exact())",
                    **_SHORT,
                )
        self.rejects(
            "bad-inputs",
            "vocabulary of 300",
            data=self.written(Small()),
            cases="return Cases(((np.arange(8) + 293,),), Exact())",
            **_SHORT,
        )

    def test_what_is_not_supported_is_named(self) -> None:
        for model, parts in (
            (Small("mamba"), ("'mamba'", "gemma3, gpt2, llama, qwen2, qwen3")),
            (Small(extra="blk.0.ffn_gate_inp"), ("'blk.0.ffn_gate_inp.weight'",)),
            (
                Small(metadata={"attention.sliding_window": 64}),
                ("attention.sliding_window = '64'",),
            ),
            (Small(metadata={"rope.scaling.type": "yarn"}), ("rope.scaling.type = 'yarn'",)),
            (Small(metadata={"rope.dimension_count": 8}), ("rope.dimension_count = '8'",)),
        ):
            with self.subTest(parts[0]):
                self.rejects("unsupported-model", *parts, data=self.written(model))

    def test_values_out_of_bounds(self) -> None:
        for metadata, words in (
            ({"rope.freq_base": -1.0}, "rope.freq_base = '-1.0', which is out of bounds"),
            ({"attention.value_length": 0}, "attention.value_length = '0'"),
            ({"rope.freq_base": float("inf")}, "rope.freq_base = 'inf'"),
        ):
            with self.subTest(words):
                data = self.written(dataclasses.replace(Small(), metadata=metadata))
                self.rejects("bad-file", words, data=data)

    def test_what_transformers_cannot_read(self) -> None:
        failing = mock.patch(
            "transformers.modeling_gguf_pytorch_utils.load_gguf_checkpoint",
            side_effect=KeyError("general.name"),
        )
        with failing:
            self.rejects("bad-file", "transformers expects: ", data=self.written(Small()), **_SHORT)

    def test_options(self) -> None:
        data = self.written(Small())
        given: dict[str, dict[str, Any]] = {
            "a context of 1025 tokens": {"context": 1025},
            "shapes are given": {"shapes": {"token": (1,)}},
            "up to the context of 8": {"context": 8, "shapes": {"tokens": (9,)}},
            "quantize is given": {"quantize": "int8"},
        }
        for words, options in given.items():
            with self.subTest(words):
                self.rejects("bad-option", words, data=data, **options)


if __name__ == "__main__":
    unittest.main()
