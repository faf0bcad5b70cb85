"""Tokenizers in the metadata of GGUF files; a damaged file is refused."""

from __future__ import annotations

import random
import tempfile
import unittest
from pathlib import Path

from gguf import GGUFWriter

from bmc.errors import BmcError
from bmc.text import byte_level, gguf_metadata, sources
from bmc.text.tokenizer import Bpe, Decoding

LETTERS = [byte_level.LETTERS[byte] for byte in range(256)]
SCORED = [
    "<unk>",
    "<s>",
    "</s>",
    *(f"<0x{b:02X}>" for b in range(256)),
    "\u2581",
    "a",
    "b",
    "ab",
    "\u2581ab",
]


def write(path: Path, pre: str = "smollm", scored: bool = False) -> None:
    writer = GGUFWriter(str(path), "llama")
    if scored:
        writer.add_tokenizer_model("llama")
        writer.add_token_list(SCORED)
        writer.add_token_scores([0.0] * 259 + [-1.0, -2.0, -3.0, -5.0, -4.0])
        writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * 5)
        writer.add_bos_token_id(1)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([*LETTERS, "ab", "<|im_end|>"])
        writer.add_token_types([1] * 257 + [3])
        writer.add_token_merges(["a b"])
        writer.add_eos_token_id(257)
        writer.add_chat_template("{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


class GgufFileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "model.gguf")

    def test_byte_level(self) -> None:
        write(self.path)
        found = sources.tokenizer(self.path)
        assert isinstance(found.model, Bpe)
        self.assertEqual(found.model.merges, ((97, 98, 256),))
        self.assertEqual([token.text for token in found.added], ["<|im_end|>"])
        # Digits first, then GPT-2's pattern.
        self.assertEqual(len(found.stages), 2)
        self.assertEqual(found.prefix, ())
        template, end = sources.template(self.path)
        self.assertEqual((template.answer, end), ("<|im_end|>", "<|im_end|>"))

    def test_scores_are_an_order_of_merges(self) -> None:
        write(self.path, scored=True)
        found = sources.tokenizer(self.path)
        assert isinstance(found.model, Bpe)
        # The token with the higher score comes first.
        self.assertEqual(found.model.merges, ((259, 262, 263), (260, 261, 262)))
        self.assertEqual(found.tokens[3 + 10], b"\n")
        self.assertEqual(found.prefix, (1,))
        self.assertIs(found.decoding, Decoding.MARKS_BUT_ONE)

    def test_an_unknown_pre_tokenizer_is_refused_by_name(self) -> None:
        write(self.path, pre="chameleon")
        with self.assertRaises(BmcError) as caught:
            sources.tokenizer(self.path)
        self.assertIn("chameleon", caught.exception.message)

    def test_damaged_files_are_refused(self) -> None:
        write(self.path)
        good = self.path.read_bytes()
        rng = random.Random(0)
        refusals = 0
        for _ in range(40):
            bad = bytearray(good)
            for _ in range(rng.choice((1, 8))):
                bad[rng.randrange(min(len(bad), 400))] = rng.randrange(256)
            self.path.write_bytes(bad[: rng.choice((len(bad), rng.randrange(len(bad))))])
            try:
                gguf_metadata.read(self.path)
            except BmcError:
                refusals += 1
        self.assertGreater(refusals, 10)


if __name__ == "__main__":
    unittest.main()
