""".keras files that are not what Keras writes are refused before Keras opens them."""

from __future__ import annotations

import struct
import unittest
import zipfile
from dataclasses import replace
from pathlib import Path

import support

from bmc import limits
from bmc.frontends import keras_archive

_MEMBERS = {"metadata.json": b"{}", "config.json": b"{}", "model.weights.h5": b"\0" * 100_000}


class KerasArchiveTest(support.FolderTest):
    def file(self, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
        path = self.folder / "net.keras"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, data in {**_MEMBERS, **members}.items():
                archive.writestr(name, data)
        return path

    def rejects(self, kind: str, *parts: str, path: Path, bytes_: int = 2**32) -> None:
        allowed = replace(limits.DEFAULT, tensor_bytes=bytes_)
        self.refuses(kind, *parts, call=lambda: keras_archive.check(path, allowed))

    def test_what_keras_writes(self) -> None:
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            keras_archive.check(self.file({}, compression), limits.DEFAULT)
        # What is stored as it is has no limit but the file's.
        stored = self.file({}, zipfile.ZIP_STORED)
        keras_archive.check(stored, replace(limits.DEFAULT, tensor_bytes=1000))

    def test_names_of_other_places(self) -> None:
        for name in ("/tmp/x", "../x", "assets/../../x", "a\\x"):
            self.rejects("unsafe-file", f"contains '{name}'", path=self.file({name: b""}))

    def test_two_members_of_one_name(self) -> None:
        path = self.file({"config.jsom": b"{}"})
        path.write_bytes(path.read_bytes().replace(b"config.jsom", b"config.json"))
        self.rejects("unsafe-file", "config.json", path=path)

    def test_what_unpacks_to_more_than_is_allowed(self) -> None:
        path = self.file({"assets/x": b"\0" * 2_000_000})
        parts = ("unpacks to 2,100,004 bytes, more than 1,000,000", "--limit tensor_bytes=2100004")
        self.rejects("over-limit", *parts, path=path, bytes_=1_000_000)
        keras_archive.check(path, limits.DEFAULT)

    def test_text_without_an_end(self) -> None:
        # 2**27 bytes, which is what the file itself says too.
        path = self.file({"config.json": b" " * 2**27})
        self.rejects("bad-file", "'config.json' in 'net.keras' has 134,217,728 bytes", path=path)
        # A file may only say so: 4 GiB.
        path = self.file({})
        data = bytearray(path.read_bytes())
        at = data.index(b"config.json", data.index(b"PK\1\2"))
        struct.pack_into("<I", data, at - 46 + 24, 0xFFFFFFF0)
        path.write_bytes(data)
        self.rejects("bad-file", "has 4,294,967,280 bytes", path=path)

    def test_damaged(self) -> None:
        path = self.file({}, zipfile.ZIP_STORED)
        data = path.read_bytes()
        at = data.index(b"\0" * 1000)
        path.write_bytes(data[:at] + b"\1" + data[at + 1 :])
        self.rejects("bad-file", "'net.keras' is damaged", path=path)
        path.write_bytes(data[:-10])
        self.rejects("bad-file", "'net.keras' is damaged", path=path)
        # One that says it has fewer bytes than it has.
        path = self.file({"config.json": b" " * 1000})
        data = path.read_bytes()
        assert struct.pack("<I", 1000) in data
        path.write_bytes(data.replace(struct.pack("<I", 1000), struct.pack("<I", 10)))
        self.rejects("bad-file", "'net.keras' is damaged", path=path)


if __name__ == "__main__":
    unittest.main()
