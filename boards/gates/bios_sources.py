"""Collects the sources of LiteX's BIOS: its own, and what it needs of a C library, picolibc.

Folders stay as they are in the Python packages, because some files include others by relative paths.
"""

from __future__ import annotations

import sys
from pathlib import Path

import litex.soc.cores.cpu
from litex import get_data_mod

from tools import cli

# What LiteX's makefiles compile, but for drivers of devices that no system here has.
BIOS = {
    "bios": ["boot", "complete", "helpers", "main", "readline"],
    "bios/cmds": ["cmd_bios", "cmd_boot", "cmd_mem"],
    "libbase": ["console", "crc16", "crc32", "isr", "memtest", "system", "uart"],
    "libc": ["stdio"],
    "liblitedram": ["accessors", "sdram", "utils"],
}
CPU = ["boot-helper.S", "crt0.S"]
LIBC = {
    "errno": ["errno"],
    "ctype": ["ctype_"],
    "stdlib": ["rand"],
    "string": ["memcpy", "memmove", "strcmp", "strcpy", "strlen", "strncmp", "strncpy", "strnlen"],
    "tinystdio": [
        "fgetc",
        "fputc",
        "fputs",
        "getchar",
        "printf",
        "putchar",
        "puts",
        "strtoul",
        "vfprintf",
    ],
}
# What others include, and is not compiled by itself.
LINKER_SCRIPT = "bios/linker.ld"
INCLUDED = "libc/tinystdio/ultoa_invert.c"

# picolibc's configuration: its small stdio, which prints integers and no floats.
PICOLIBC_H = """\
#define TINY_STDIO
#define PRINTF_LEVEL PRINTF_STD
"""


def collect(root: Path, files: list[Path], headers: Path, out: Path) -> None:
    """Copies `files`, and all headers below the folder `headers`, from `root` to `out`."""
    for file in [*files, *sorted(headers.glob("**/*.h"))]:
        place = out / file.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())


def named(root: Path, folders: dict[str, list[str]]) -> list[Path]:
    """Returns the C files of a table."""
    return [root / folder / f"{name}.c" for folder, names in folders.items() for name in names]


@cli.program("bios_sources", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--cpu", required=True, help="a CPU that LiteX knows")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for C, assembly and headers"
    )
    parser.add_argument("--linker-script", type=Path, required=True, help="file for it")
    parser.add_argument("--included", type=Path, required=True, help="folder for included C")
    options = parser.parse_args(args)
    cpu = Path(litex.soc.cores.cpu.__file__).parent / options.cpu
    software = cpu.parents[2] / "software"
    collect(software, named(software, BIOS), software, options.out / "software")
    collect(cpu, [cpu / name for name in CPU], cpu, options.out / "cpu")
    newlib = Path(get_data_mod("software", "picolibc").data_location) / "newlib"
    collect(newlib, named(newlib / "libc", LIBC), newlib, options.out / "newlib")
    (options.out / "picolibc.h").write_text(PICOLIBC_H)
    options.included.mkdir(parents=True, exist_ok=True)
    (options.included / Path(INCLUDED).name).write_text((newlib / INCLUDED).read_text())
    options.linker_script.write_text((software / LINKER_SCRIPT).read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
