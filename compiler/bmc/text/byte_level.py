"""The alphabet of byte-level tokenizers, in which every byte is a character that can be printed."""

from __future__ import annotations

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _alphabet() -> dict[str, int]:
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    letters = {chr(byte): byte for byte in printed}
    return letters | {chr(256 + i): byte for i, byte in enumerate(others)}


# Character -> byte.
ALPHABET = _alphabet()
# Byte -> character.
LETTERS = {byte: letter for letter, byte in ALPHABET.items()}


def to_bytes(token: str) -> bytes:
    """Returns the bytes that a token stands for. One with another character in it stands for itself."""
    if all(letter in ALPHABET for letter in token):
        return bytes(ALPHABET[letter] for letter in token)
    return token.encode()
