"""A conversation with SmolLM2 at the terminal: what it says is what transformers says, token by token."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from bmc.frontends import gguf_config, gguf_file, gguf_reference
from bmc.limits import Limits
from bmc.text import chat_template
from bmc.text import gguf_file as text_file

FILE = Path(os.environ["FILE"])
QUESTIONS = ("What is the capital of France?", "And of Italy?")
END = "<|im_end|>"


def reference_answers() -> list[str]:
    """Returns the likeliest answers to QUESTIONS, one after the other."""
    metadata = text_file.read(FILE)
    tokenizer = Tokenizer.from_str(json.dumps(metadata.tokenizer))
    template = chat_template.compiled(metadata.chat_template, metadata.special_tokens)
    config = gguf_config.read(gguf_file.read(FILE, Limits()))
    divisors = torch.full((config.head_width // 2,), config.rope_divisor)
    model = gguf_reference.load(FILE, config, divisors)
    end = tokenizer.token_to_id(END)
    answers: list[str] = []
    text = template.first
    for question in QUESTIONS:
        text += question + template.answer
        model.reset()
        next_one = model.call(np.array(tokenizer.encode(text, add_special_tokens=False).ids))[0]
        said: list[int] = []
        while int(next_one[0]) != end:
            said.append(int(next_one[0]))
            next_one = model.call(next_one)[0]
        answers.append(tokenizer.decode(said))
        text += answers[-1] + template.next
    return answers


class ChatTest(unittest.TestCase):
    def test_answers_are_those_of_transformers(self) -> None:
        typed = "".join(f"{line}\r" for line in (*QUESTIONS, "/quit"))
        done = subprocess.run(
            [os.environ["PROGRAM"]], input=typed.encode(), stdout=subprocess.PIPE, check=True
        )
        said = re.findall(r"^> .*\?\n(.*)\n\(", done.stdout.decode(), re.M)
        self.assertEqual(said, reference_answers())
        self.assertNotEqual(said[0], said[1])


if __name__ == "__main__":
    unittest.main()
