"""A Java trust store made from the machine's PEM certificates.

An unpacked Java runtime has none, because a package's script makes it on installation.
The format is JKS, which every Java still reads: a list of certificates and a SHA-1
over it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from collections.abc import Mapping
from pathlib import Path

from tools.launcher.cache import keep

BUNDLES = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pki/tls/certs/ca-bundle.crt"))
PASSWORD = "changeit"  # what Java assumes; the store holds nothing secret


def certificates(env: Mapping[str, str], unpacked: Path) -> list[bytes]:
    """DER certificates that the machine trusts, including private ones named by the environment.

    unpacked: folder with the .crt files of the ca-certificates package, for machines without
    a bundle.
    """
    named = [Path(env[name]) for name in ("SSL_CERT_FILE", "PIP_CERT") if env.get(name)]
    system = [b for b in BUNDLES if b.is_file()] or sorted(unpacked.rglob("*.crt"))
    found: dict[bytes, None] = {}
    for path in (*named, *system):
        try:
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        for body in re.findall(
            r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", text, re.DOTALL
        ):
            try:
                found[base64.b64decode(body)] = None
            except binascii.Error:
                continue
    return list(found)


def encode(ders: list[bytes]) -> bytes:
    """The bytes of a JKS that holds these certificates as trusted."""
    out = struct.pack(">III", 0xFEEDFEED, 2, len(ders))
    for index, der in enumerate(ders):
        alias, kind = b"ca%d" % index, b"X.509"
        out += (
            struct.pack(">IH", 2, len(alias))
            + alias
            + struct.pack(">QH", 0, len(kind))
            + kind
            + struct.pack(">I", len(der))
            + der
        )
    return out + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + out).digest()


def ensure(cache: Path, env: Mapping[str, str], unpacked: Path) -> Path | None:
    """The trust store for this machine's certificates, written if necessary; None if there are none."""
    ders = certificates(env, unpacked)
    if not ders:
        return None
    data = encode(ders)
    store = cache / f"truststore-{hashlib.sha256(data).hexdigest()[:16]}.jks"
    keep(store, data)
    return store
