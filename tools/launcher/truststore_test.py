"""The Java trust store: its contents, and that it can be read back."""

from __future__ import annotations

import base64
import hashlib
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import truststore


def pem(der: bytes) -> str:
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"


def decode(data: bytes) -> list[bytes]:
    """The certificates of a JKS; ValueError if its digest is wrong."""
    body, digest = data[:-20], data[-20:]
    if hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest() != digest:
        raise ValueError("digest")
    magic, version, count = struct.unpack_from(">III", body)
    assert (magic, version) == (0xFEEDFEED, 2)
    at, found = 12, []
    for _ in range(count):
        (tag, length) = struct.unpack_from(">IH", body, at)
        assert tag == 2
        at += 6 + length + 8
        (length,) = struct.unpack_from(">H", body, at)
        assert body[at + 2 : at + 2 + length] == b"X.509"
        at += 2 + length
        (length,) = struct.unpack_from(">I", body, at)
        found.append(body[at + 4 : at + 4 + length])
        at += 4 + length
    assert at == len(body)
    return found


class TrustStore(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.system = self.folder / "system.crt"
        self.system.write_text(pem(b"system one") + pem(b"system two"))
        bundles = mock.patch.object(truststore, "BUNDLES", (self.system,))
        bundles.start()
        self.addCleanup(bundles.stop)

    def test_it_reads_back(self) -> None:
        ders = [b"one", b"two" * 100]
        self.assertEqual(decode(truststore.encode(ders)), ders)

    def test_a_private_certificate_is_added_to_the_systems_once(self) -> None:
        private = self.folder / "private.pem"
        private.write_text(pem(b"private") + pem(b"system two"))
        found = truststore.certificates(
            {"SSL_CERT_FILE": str(private), "PIP_CERT": str(private)}, self.folder / "none"
        )
        self.assertEqual(found, [b"private", b"system two", b"system one"])

    def test_a_machine_without_a_bundle_gets_the_packages(self) -> None:
        self.system.unlink()
        (self.folder / "mozilla").mkdir()
        (self.folder / "mozilla/a.crt").write_text(pem(b"unpacked"))
        self.assertEqual(truststore.certificates({}, self.folder), [b"unpacked"])

    def test_it_is_written_once_and_named_after_what_is_in_it(self) -> None:
        first = truststore.ensure(self.folder, {}, self.folder / "none")
        self.assertIsNotNone(first)
        assert first is not None
        self.assertEqual(decode(first.read_bytes()), [b"system one", b"system two"])
        self.assertEqual(truststore.ensure(self.folder, {}, self.folder / "none"), first)
        first.write_bytes(truststore.encode([b"planted"]))
        truststore.ensure(self.folder, {}, self.folder / "none")
        self.assertEqual(decode(first.read_bytes()), [b"system one", b"system two"])
        self.system.write_text(pem(b"another"))
        self.assertNotEqual(truststore.ensure(self.folder, {}, self.folder / "none"), first)

    def test_no_certificates_no_store(self) -> None:
        self.system.unlink()
        self.assertIsNone(truststore.ensure(self.folder, {}, self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
