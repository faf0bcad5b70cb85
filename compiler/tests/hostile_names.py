"""Writes a C program with the strings that bmc makes from hostile names, and the bytes they must have."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from bmc import names
from bmc.emit import c_text

# Somewhere each of these would end a string or be misread.
_NAMES = (
    '"; int x; "',
    "??/",
    'é??/"; #error "',
    "éé/",
    "\\",
    "\\\n",
    '\\"',
    "a\0b",
    "\x1b[2J\r\nBM1 PASS cases=1",
    "%s%n",
    "\\u0022",
    "*/ x /*",
    "//",
    'R"(',
    "1\x0123",
    "é1",
    "名前",
    "\u202egnp",
    "\ud800",
    "",
)
_PIECES = (
    "?",
    "??/",
    "??'",
    "\\",
    '"',
    "'",
    "\n",
    "\r",
    "\0",
    "0",
    "7",
    "x",
    "é",
    "\x7f",
    "\x85",
    "/*",
    "*/",
    "%:",
)
_RANDOM = 500


def _names() -> list[str]:
    rng = random.Random(0)
    made = ("".join(rng.choices(_PIECES, k=rng.randrange(12))) for _ in range(_RANDOM))
    return [*_NAMES, *made, *(chr(code) for code in range(256))]


def main(out: Path) -> None:
    rows = []
    for name in _names():
        wanted = names.printable(name).encode()
        data = ", ".join(f"{byte}" for byte in (*wanted, 0))
        rows.append(f"  {{{c_text.string(name)}, sizeof({c_text.string(name)}), {{{data}}}}},\n")
    out.write_text(
        "#include <string.h>\n"
        '_Static_assert(sizeof("??/") == 4, "trigraphs are off");\n'
        "static const struct {\n  const char *text;\n  unsigned long size;\n  unsigned char data[64];\n"
        f"}} k_names[] = {{\n{''.join(rows)}}};\n"
        "int main(void) {\n"
        f"  for (int i = 0; i < {len(rows)}; ++i) {{\n"
        f"    unsigned long size = strlen((const char *)k_names[i].data) + 1;\n"
        "    if (k_names[i].size != size || memcmp(k_names[i].text, k_names[i].data, size) != 0) return 1;\n"
        "  }\n  return 0;\n}\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
