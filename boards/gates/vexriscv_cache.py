"""Gives VexRiscv a larger data cache: its package has Verilog with one of 4 KB, and nothing to make another with."""

from __future__ import annotations

import re
from pathlib import Path

from tools.cli import UserError

# Of the cache in the package: one way, with tags for the address from bit 12 on.
_BYTES = 4096
_MODULE = re.compile(r"^module DataCache \(.*?^endmodule", re.DOTALL | re.MULTILINE)


def enlarge(folder: Path, size: int) -> None:
    """Gives the design in `folder` a data cache of `size` bytes.

    Raises:
      UserError: it cannot have one.
    """
    for file in folder.glob("**/*.v"):
        verilog = file.read_text()
        if _MODULE.search(verilog):
            file.write_text(enlarged(verilog, size))
            return
    raise UserError("--data-cache is for VexRiscv: this design has no module DataCache")


def enlarged(verilog: str, size: int) -> str:
    """Returns the design with a data cache of `size` bytes.

    More bits of an address choose the line. Tags stay: they hold some of these bits a second time.

    Raises:
      UserError: the size is none, or the module is not as expected.
    """
    if size <= _BYTES or size & (size - 1):
        raise UserError(f"a data cache of {size} bytes: use a power of two above {_BYTES}")
    more = (size // _BYTES).bit_length() - 1
    # Of lines, of words, and the counter that empties all lines, whose last bit says that it is done.
    widths = {6: "0", 9: "0", 11: "[25]"}
    wanted = [
        *((rf"\[{high} ?: ?({low})\]", rf"[{high + more}:\1]") for high, low in widths.items()),
        (r"\[7:0\](?=\s+stageB_flusher_counter;)", f"[{7 + more}:0]"),
        (r"stageB_flusher_counter\[7\]", f"stageB_flusher_counter[{7 + more}]"),
        (r"\[0:127\]", f"[0:{128 * size // _BYTES - 1}]"),
        (r"\[0:1023\]", f"[0:{1024 * size // _BYTES - 1}]"),
    ]

    def replaced(module: re.Match[str]) -> str:
        text = module[0]
        for pattern, new in wanted:
            text, count = re.subn(pattern, new, text)
            if not count:
                raise UserError(f"the module DataCache is another one: it has no {pattern}")
        return text

    return _MODULE.sub(replaced, verilog)
