"""Folders of transformers' language models become entry points with state; IREE must agree with transformers."""

from __future__ import annotations

import unittest

import support

_MODEL = """
from pathlib import Path

import torch
import transformers

from bmc.frontends.transformers_folder import language_model

FOLDER = Path(__file__).with_name("checkpoint")


def _saved(kind, **settings):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=80, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        initializer_range=0.5, **settings)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(FOLDER)


def gemma3():
    _saved("gemma3_text", intermediate_size=48, num_key_value_heads=1, head_dim=16, sliding_window=6,
           layer_types=["sliding_attention", "full_attention"])
    return language_model(FOLDER, context=16, tokens=4, cases=[range(9)])


def gpt2():
    _saved("gpt2")
    return language_model(FOLDER, context=16, tokens=4)


def too_short():
    _saved("llama", intermediate_size=48)
    return language_model(FOLDER, context=16, tokens=4, cases=[[1, 2]])
"""


class FolderTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_generate_what_transformers_does(self) -> None:
        for factory in ("gemma3", "gpt2"):
            with self.subTest(factory):
                model = self.load(factory)
                self.assertIn(support.AGREES, model.second_reference)
                self.assertEqual(["prefill", "decode"], [s.name for s in model.signatures])
                generated = model.golden.outputs[-2][0]
                self.assertEqual(generated, model.golden.inputs[-1][0])

    def test_a_prompt_that_does_not_fit(self) -> None:
        self.refuses("bad-inputs", "4 to 15 tokens", call=lambda: self.load("too_short"))


if __name__ == "__main__":
    unittest.main()
