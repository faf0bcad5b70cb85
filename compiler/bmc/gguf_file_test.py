"""Damaged and hostile .gguf files are refused in a sentence; what is written is read again."""

from __future__ import annotations

import struct
import unittest
from collections.abc import Callable

import gguf_kit
import numpy as np
import support
from gguf import GGUFReader, GGUFWriter

from bmc import gguf_file
from bmc.errors import BmcError
from bmc.limits import DEFAULT, Limits

_UINT32, _STRING, _ARRAY = 4, 8, 9
_F32, _Q8_0 = 0, 8


def _text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def _key(name: bytes = b"a", kind: int = _UINT32, value: bytes = b"\1\0\0\0") -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _tensor(
    name: bytes = b"t", shape: tuple[int, ...] = (32,), kind: int = _F32, start: int = 0
) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return _text(name) + sizes + struct.pack("<IQ", kind, start)


def _file(
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    keys: tuple[bytes, ...] = (),
    tensors: tuple[bytes, ...] = (),
    key_count: int | None = None,
    tensor_count: int | None = None,
    data: bytes = bytes(256),
) -> bytes:
    counts = (
        len(tensors) if tensor_count is None else tensor_count,
        len(keys) if key_count is None else key_count,
    )
    head = magic + struct.pack("<IQQ", version, *counts) + b"".join((*keys, *tensors))
    return head + bytes(-len(head) % 32) + data


class GgufFileTest(support.FolderTest):
    def read(self, data: bytes, allowed: Limits = DEFAULT) -> gguf_file.GgufFile:
        path = self.folder / "m.gguf"
        path.write_bytes(data)
        return gguf_file.read(path, allowed)

    def rejects(
        self, data: bytes, words: str, allowed: Limits = DEFAULT, kind: str = "bad-file"
    ) -> None:
        self.refuses(kind, words, call=lambda: self.read(data, allowed))

    def test_reads_what_the_package_reads(self) -> None:
        path = gguf_kit.write(self.folder / "small.gguf")
        ours, theirs = gguf_file.read(path, Limits()), GGUFReader(path)
        self.assertEqual(
            [(t.name, t.tensor_type, tuple(t.shape.tolist()[::-1])) for t in theirs.tensors],
            [(t.name, t.kind, t.shape) for t in ours.tensors.values()],
        )
        for tensor in theirs.tensors:
            own = ours.bytes_of(ours.tensors[tensor.name])
            np.testing.assert_array_equal(own, tensor.data.reshape(-1).view(np.uint8))
        self.assertEqual(
            {key: field.contents() for key, field in theirs.fields.items() if key[:5] != "GGUF."},
            dict(ours.metadata),
        )

    def test_values_of_all_types(self) -> None:
        path = self.folder / "values.gguf"
        writer = GGUFWriter(path, "llama")
        given = {
            "add_uint8": 200, "add_int8": -2, "add_uint16": 60000, "add_int16": -3, "add_uint32": 2**31,
            "add_int32": -4, "add_uint64": 2**63, "add_int64": -5, "add_float32": 0.5, "add_float64": 0.25,
            "add_bool": True, "add_string": "é",
        }  # fmt: skip
        for method, value in given.items():
            getattr(writer, method)(method, value)
        writer.add_array("texts", ["a", "bc", ""])
        writer.add_array("numbers", [1.5, 2.5])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        found = dict(gguf_file.read(path, Limits()).metadata)
        self.assertEqual("llama", found.pop("general.architecture"))
        self.assertEqual(given | {"texts": ("a", "bc", ""), "numbers": (1.5, 2.5)}, found)

    def test_a_sound_file_is_read(self) -> None:
        file = self.read(_file(keys=(_key(),), tensors=(_tensor(), _tensor(b"u", start=128))))
        self.assertEqual({"a": 1}, file.metadata)
        self.assertEqual([128, 128], [t.length for t in file.tensors.values()])

    def test_damaged_files(self) -> None:
        for words, data in {
            "too short": b"GGUF",
            "does not begin with GGUF": _file(magic=b"GGML"),
            "of version 1": _file(version=1),
            "of version 50331648": _file(version=3 << 24),
            "states 4,294,967,296 tensors": _file(tensor_count=2**32),
            "states 18,446,744,073,709,551,615 keys": _file(key_count=2**64 - 1),
            "states 9,223,372,036,854,775,808 characters": _file(
                keys=(struct.pack("<Q", 2**63) + b"a",)
            ),
            "a key that is no UTF-8": _file(keys=(_key(b"\xff"),)),
            "the key 'a' twice": _file(keys=(_key(), _key())),
            "the key 'a' of unknown type 77": _file(keys=(_key(kind=77),)),
            "the key 'a?' of unknown type 77": _file(keys=(_key(b"a\x1b", kind=77),)),
            "arrays of arrays": _file(
                keys=(_key(kind=_ARRAY, value=struct.pack("<IQ", _ARRAY, 1)),)
            ),
            "states 1,099,511,627,776 elements": _file(
                keys=(_key(kind=_ARRAY, value=struct.pack("<IQ", _UINT32, 2**40)),)
            ),
            "states 1,000 texts": _file(
                keys=(_key(kind=_ARRAY, value=struct.pack("<IQ", _STRING, 1000)),)
            ),
            "alignment that is no power of 2": _file(
                keys=(_key(b"general.alignment", value=struct.pack("<I", 24)),)
            ),
            "with 0 dimensions": _file(tensors=(_tensor(shape=()),)),
            "with 5 dimensions": _file(tensors=(_tensor(shape=(1,) * 5),)),
            "of unknown type 99": _file(tensors=(_tensor(kind=99),)),
            "no whole blocks of 32": _file(tensors=(_tensor(shape=(33,), kind=_Q8_0),)),
            "no whole blocks of 1": _file(tensors=(_tensor(shape=(0, 32)),)),
            "the tensor 't' twice": _file(tensors=(_tensor(), _tensor())),
            "misplaces the tensor 't'": _file(tensors=(_tensor(start=160),)),
            "or misplaces the tensor 't'": _file(tensors=(_tensor(start=4),)),
            "cut off, or misplaces": _file(tensors=(_tensor(start=2**64 - 32),)),
            "overlap": _file(tensors=tuple(_tensor(b"%d" % i) for i in range(40))),
        }.items():
            with self.subTest(words):
                self.rejects(data, words)

    def test_tensors_that_are_too_large(self) -> None:
        data = _file(tensors=(_tensor(shape=(2**20, 2**20)),))
        self.rejects(data, "1,099,511,627,776 elements", kind="over-limit")
        sound = _file(tensors=(_tensor(),))
        self.rejects(sound, "32 elements", Limits(tensor_bytes=127), "over-limit")
        self.read(sound, Limits(tensor_bytes=128))

    def test_a_file_that_is_cut_off_anywhere(self) -> None:
        whole = gguf_kit.write(self.folder / "small.gguf").read_bytes()
        self._try(lambda length: whole[:length], range(0, len(whole), 97))

    def test_a_file_with_any_changed_byte(self) -> None:
        whole = gguf_kit.write(self.folder / "small.gguf").read_bytes()

        def changed(place: int) -> bytes:
            return whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :]

        self._try(changed, range(0, 2400, 3))

    def _try(self, damaged: Callable[[int], bytes], places: range) -> None:
        """Expects at least one refusal, and nothing but BmcError."""
        refused = 0
        for place in places:
            try:
                self.read(damaged(place))
            except BmcError:
                refused += 1
        self.assertGreater(refused, len(places) // 4)


if __name__ == "__main__":
    unittest.main()
