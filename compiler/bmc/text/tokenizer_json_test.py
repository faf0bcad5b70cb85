"""Tokenizers of the package `tokenizers` are read or refused by name, whatever is in the file."""

from __future__ import annotations

import copy
import json
import random
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from bmc.errors import BmcError
from bmc.text import byte_level, tables, tokenizer_json
from bmc.text.tokenizer import Bpe, Decoding

Json = Any


def description() -> Json:
    vocabulary = {letter: number for number, letter in enumerate(sorted(byte_level.ALPHABET))}
    vocabulary |= {"ab": 256, "abc": 257}
    made = Tokenizer(models.BPE(vocabulary, [("a", "b"), ("ab", "c")]))
    made.add_special_tokens(["<end>"])
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return json.loads(made.to_str())


def changed(path: str, value: object) -> Json:
    """Returns the description with another value at a path such as "model.type"."""
    found = description()
    *parents, last = path.split(".")
    place = found
    for parent in parents:
        place = place[int(parent)] if isinstance(place, list) else place[parent]
    place[last] = value
    return found


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every value but those of the vocabulary."""
    yield path
    if path == ("model", "vocab"):
        return
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from places(inner, (*path, key))


class TokenizerJsonTest(unittest.TestCase):
    def test_a_tokenizer_is_read(self) -> None:
        found = tokenizer_json.of_json(description(), "t")
        assert isinstance(found.model, Bpe)
        self.assertEqual(found.tokens[257], b"abc")
        self.assertEqual(len(found.model.merges), 2)
        self.assertEqual(found.model.byte_tokens[ord("!")], 0)
        self.assertEqual(found.specials, (258,))
        self.assertIs(found.decoding, Decoding.BYTES)

    def test_the_same_files_each_time(self) -> None:
        found = tokenizer_json.of_json(description(), "t")
        written = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                tables.write(found, "words", "", Path(folder))
                written.append({p.name: p.read_bytes() for p in Path(folder).iterdir()})
        self.assertEqual(written[0], written[1])
        self.assertEqual(sorted(written[0]), ["words.S", "words.bin", "words.c", "words.h"])

    def test_refusals_name_what_they_refuse(self) -> None:
        for path, value, name in (
            ("model.dropout", 0.5, "dropout"),
            ("model.end_of_word_suffix", "</w>", "end_of_word_suffix"),
            ("model.type", "WordLevel", "WordLevel"),
            ("normalizer", {"type": "Precompiled", "precompiled_charsmap": ""}, "Precompiled"),
            ("pre_tokenizer", {"type": "UnicodeScripts"}, "UnicodeScripts"),
            ("decoder", {"type": "CTC"}, "CTC"),
            ("added_tokens.0.single_word", True, "single_word"),
            ("added_tokens.0.id", 1 << 30, "tokens"),
        ):
            with self.subTest(path), self.assertRaises(BmcError) as caught:
                tokenizer_json.of_json(changed(path, value), "t")
            self.assertEqual(caught.exception.kind, "unsupported-tokenizer")
            self.assertIn(name, caught.exception.message)

    def test_damaged_files_are_refused(self) -> None:
        good = description()
        rng = random.Random(0)
        refusals = 0
        for place in places(good):
            bad = copy.deepcopy(good)
            value: Json = rng.choice((None, -1, 1 << 40, "x", [], {}, [None], True))
            if not place:
                bad = value
            else:
                inner = bad
                for key in place[:-1]:
                    inner = inner[key]
                inner[place[-1]] = value
            try:
                tokenizer_json.of_json(bad, "t")
            except BmcError:
                refusals += 1
        self.assertGreater(refusals, 20)

    def test_what_is_no_json_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tokenizer.json")
            for data in (b"", b"{", b"\xff", b"[" * 100000, b"[1]"):
                path.write_bytes(data)
                with self.subTest(data[:4]), self.assertRaises(BmcError):
                    tokenizer_json.read(path)


if __name__ == "__main__":
    unittest.main()
