"""Somebody else's product around an export: its programs are in `app`, and its HAL is the one that the export's README
shows. The paths of compilers and emulators are in the environment (`product.bzl`).
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_IMAGES = 10
_PIXELS, _CLASSES = 64, 10
# A case of the model's golden data: inputs and outputs, each padded to 64 bytes.
_CASE_BYTES = 320
VECTORS_128, VECTORS_256 = (
    f"rv64,v=true,vext_spec=v1.0,vlen={vlen},elen=64" for vlen in (128, 256)
)
F16_256 = VECTORS_256 + ",zfh=true,zvfh=true"
SCALAR_32 = "rv32,d=false,f=false,h=false,zfa=false"


def path(variable: str) -> Path:
    """The file that the variable names, wherever a program is started."""
    return Path(os.environ[variable]).absolute()


GCC = path("GCC")
MAKE = path("MAKE")
# Nothing of this test's own, some of which means something to make. GCC's programs find their libraries by it.
_ENVIRONMENT = {
    "LD_LIBRARY_PATH": ":".join(
        f"{GCC.parents[2]}/{lib}/x86_64-linux-gnu" for lib in ("usr/lib", "lib")
    ),
    **{
        name: os.environ[name]
        for name in ("PATH", "RUNFILES_DIR", "TEST_SRCDIR")
        if name in os.environ
    },
}


def call(*command: object, folder: Path | None = None) -> str:
    """Runs a program and returns its output; fails with it."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def boot(image: Path, cpu: str) -> tuple[int, str]:
    """Boots an image; returns its exit status and what it printed."""
    qemu = path("QEMU_RV32" if cpu.startswith("rv32") else "QEMU_RV64")
    command = f"-machine virt -m 32M -nographic -monitor none -bios none -icount shift=0 -cpu {cpu} -kernel"
    done = subprocess.run(
        [str(qemu), *command.split(), str(image)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    sys.stderr.write(done.stderr)
    return done.returncode, done.stdout


def write_tools(folder: Path) -> None:
    """Writes what somebody else has on the PATH: make, GCC and QEMU."""
    folder.mkdir()
    names = {"make": MAKE, "riscv64-unknown-elf-gcc": GCC}
    names |= {f"qemu-system-riscv{bits}": path(f"QEMU_RV{bits}") for bits in (32, 64)}
    for name, program in names.items():
        variables = {**_ENVIRONMENT, "PATH": "$PATH"}
        if program != GCC:
            del variables["LD_LIBRARY_PATH"]
        words = " ".join(f'{variable}="{value}"' for variable, value in variables.items())
        (folder / name).write_text(f'#!/bin/sh\n{words} exec {program} "$@"\n')
        (folder / name).chmod(0o755)


def make_run(folder: Path, qemu: str) -> str:
    """Builds and boots a complete export as its README says; returns what it printed, and fails with it.

    Args:
      folder: the export.
      qemu: variable that names the emulator.
    """
    return call(MAKE, "run", f"CC={GCC}", f"QEMU={path(qemu)}", folder=folder)


def cases(golden: Path) -> tuple[str, str]:
    """Returns images.h, with a model's first pictures, and the digits that its framework sees in them.

    Args:
      golden: the model's golden.bin.
    """
    data = golden.read_bytes()
    rows, digits = [], ""
    for start in range(0, _IMAGES * _CASE_BYTES, _CASE_BYTES):
        pixels = struct.unpack_from(f"<{_PIXELS}f", data, start)
        logits = struct.unpack_from(f"<{_CLASSES}f", data, start + 4 * _PIXELS)
        rows.append("{" + ", ".join(f"{pixel.hex()}f" for pixel in pixels) + "}")
        digits += str(logits.index(max(logits)))
    return (
        f"enum {{ IMAGES = {_IMAGES} }};\nstatic const float images[IMAGES][{_PIXELS}] = {{\n"
        + ",\n".join(rows)
        + "};\n",
        digits,
    )


class Product:
    """An exported folder beside the applications that use it."""

    def __init__(self, export: Path, images: str, name: str = "mlp") -> None:
        """Copies the applications to where the export is.

        Args:
          export: the folder.
          images: images.h.
          name: what the network of the digits is called in it.
        """
        self.export, self.name = export, name
        self.readme = (export / "README.md").read_text()
        flags = re.search(r"`(-march=[^`]+)`", self.readme)
        hal = re.search(r"```c\n(.*?)```", self.readme, re.DOTALL)
        assert flags and hal
        self.flags = flags[1] + " -Os"
        self.app = export.with_name("app")
        shutil.copytree(_HERE / "app", self.app)
        digits = (self.app / "digits.c").read_text()
        digits = re.sub(r"\bmlp", name, digits)
        (self.app / "digits.c").write_text(re.sub(r"\bMLP", name.upper(), digits))
        (self.app / "hal.c").write_text(hal[1])
        (self.app / "images.h").write_text(images)

    def make(self) -> Path:
        """Builds the library with make, and the program `digits` with it; returns the program."""
        ar = GCC.with_name(GCC.name.replace("gcc", "ar"))
        call(MAKE, f"CC={GCC}", f"AR={ar}", f"CFLAGS={self.flags}", folder=self.export)
        image = self.export.with_name("digits")
        # It finds none for the longer name of an ISA of 32 bits.
        abi = re.sub("_zicsr_zifencei", "", self.flags)
        libgcc = call(GCC, *abi.split(), "-print-libgcc-file-name").strip()
        sources = [self.app / name for name in ("board.c", "digits.c", "hal.c", "start.S")]
        call(
            *(GCC, *self.flags.split(), "-ffreestanding", "-nostdlib", "-Wall", "-Werror"),
            *("-fno-tree-loop-distribute-patterns", "-I", self.export / "src", "-I", self.app),
            *("-T", self.app / "link.ld", *sources, self.export / "without_libc/memory.c"),
            *(self.export / f"build/lib{self.name}.a", libgcc, "-o", image),
        )
        return image
