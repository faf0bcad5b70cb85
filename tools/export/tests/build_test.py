"""Exports in the hands of somebody else: built with CMake and make, GCC and clang, and booted in QEMU.

The programs are in `app`. Their HAL is the one that the export's README shows.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_IMAGES = 10
_PIXELS, _CLASSES = 64, 10
# A case of the model's golden data: inputs and outputs, each padded to 64 bytes.
_CASE_BYTES = 320
_VECTORS = "rv64,v=true,vext_spec=v1.0,vlen={},elen=64"
_SCALAR_32 = "rv32,d=false,f=false,h=false,zfa=false"


def _path(variable: str) -> Path:
    """The file that the variable names, wherever a program is started."""
    return Path(os.environ[variable]).absolute()


GCC = _path("GCC")
LLVM = _path("CLANG").parent
CMAKE, MAKE = _path("CMAKE"), _path("MAKE")
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

# For each compiler: what CMake must know, and the options to link with.
COMPILERS = {
    "gcc": (
        {"C_COMPILER": GCC, "CXX_COMPILER": GCC.with_name(GCC.name.replace("gcc", "g++"))},
        "",
    ),
    "clang": (
        {
            "C_COMPILER": LLVM / "clang",
            "CXX_COMPILER": LLVM / "clang++",
            "AR": LLVM / "llvm-ar",
            **{
                f"{language}_COMPILER_TARGET": "riscv64-unknown-elf"
                for language in ("C", "CXX", "ASM")
            },
        },
        "-fuse-ld=lld",
    ),
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
    qemu = _path("QEMU_RV32" if cpu.startswith("rv32") else "QEMU_RV64")
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


def cases() -> tuple[str, str]:
    """Returns images.h, with the model's first pictures, and the digits that its framework sees in them."""
    data = Path(
        next(p for p in os.environ["MLP"].split() if p.endswith("/golden.bin"))
    ).read_bytes()
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


class Export:
    """An exported folder beside the applications that use it."""

    def __init__(self, launcher: str, scratch: Path) -> None:
        self.folder = scratch / "export"
        self.listing = call(Path(os.environ[launcher]).absolute(), self.folder)
        self.readme = (self.folder / "README.md").read_text()
        flags = re.search(r"`(-march=[^`]+)`", self.readme)
        hal = re.search(r"```c\n(.*?)```", self.readme, re.DOTALL)
        assert flags and hal
        self.flags = flags[1] + " -Os"
        self.app = scratch / "app"
        shutil.copytree(_HERE / "app", self.app)
        (self.app / "hal.c").write_text(hal[1])
        images, self.digits = cases()
        (self.app / "images.h").write_text(images)

    def cmake(self, compiler: str) -> Path:
        """Builds the applications; returns the folder they are in."""
        settings, link = COMPILERS[compiler]
        build = self.app.with_name(compiler)
        call(
            CMAKE,
            *("-G", "Unix Makefiles", "-S", self.app, "-B", build),
            f"-DEXPORT={self.folder}",
            f"-DCMAKE_MAKE_PROGRAM={MAKE}",
            "-DCMAKE_SYSTEM_NAME=Generic",
            "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
            *(f"-DCMAKE_{name}={value}" for name, value in settings.items()),
            f"-DCMAKE_C_FLAGS={self.flags}",
            f"-DCMAKE_ASM_FLAGS={self.flags}",
            f"-DCMAKE_CXX_FLAGS={self.flags} -std=c++17 -fno-exceptions -fno-rtti",
            f"-DCMAKE_EXE_LINKER_FLAGS=-nostdlib -T {self.app}/link.ld {link}",
        )
        call(CMAKE, "--build", build, "-j", "2")
        return build


class CMakeTest(unittest.TestCase):
    export: Export

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.export = Export("EXPORT", Path(scratch.name))

    def test_what_was_written_is_listed(self) -> None:
        listed = {line for line in self.export.listing.splitlines() if " " not in line}
        files = {
            path.relative_to(self.export.folder).as_posix()
            for path in self.export.folder.rglob("*")
            if path.is_file()
        }
        self.assertEqual(listed, files - {"ironcast.json"})
        self.assertLess({"src/mlp.h", "src/denoiser.h", "LICENSE", "zephyr/module.yml"}, files)

    def check(self, compiler: str) -> None:
        build = self.export.cmake(compiler)
        cpu = _VECTORS.format(256)
        for program in ("digits", "digits_cc"):
            self.assertEqual(boot(build / program, cpu), (0, f"digits {self.export.digits}\n"))
        self.assertEqual(boot(build / "tasks", cpu), (0, "preempted, disturbed 0\n"))
        status, careless = boot(build / "careless_tasks", cpu)
        self.assertRegex(careless, "preempted, disturbed [1-9]", status)
        # FAILED_PRECONDITION, before a kernel runs.
        refused = boot(build / "digits", _VECTORS.format(128))
        self.assertEqual(refused, (1, "refused with code 9\n"))

    def test_gcc(self) -> None:
        self.check("gcc")

    def test_clang(self) -> None:
        self.check("clang")


class MakeTest(unittest.TestCase):
    def test_32_bits(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            export = Export("EXPORT_RV32", Path(scratch))
            ar = GCC.with_name(GCC.name.replace("gcc", "ar"))
            call(MAKE, f"CC={GCC}", f"AR={ar}", f"CFLAGS={export.flags}", folder=export.folder)
            library = export.folder / "build/libmlp.a"
            image = Path(scratch) / "digits"
            # It finds none for the longer name of the ISA.
            libgcc = call(GCC, "-march=rv32imac", "-mabi=ilp32", "-print-libgcc-file-name").strip()
            sources = [export.app / name for name in ("board.c", "digits.c", "hal.c", "start.S")]
            call(
                *(GCC, *export.flags.split(), "-ffreestanding", "-nostdlib", "-Wall", "-Werror"),
                *(
                    "-fno-tree-loop-distribute-patterns",
                    "-I",
                    export.folder / "src",
                    "-I",
                    export.app,
                ),
                *("-T", export.app / "link.ld", *sources, export.folder / "without_libc/memory.c"),
                *(library, libgcc, "-o", image),
            )
            self.assertEqual(boot(image, _SCALAR_32), (0, f"digits {export.digits}\n"))
            missing, named = self.missing(library), self.named(export.readme)
            self.assertLessEqual(missing, named)
            # No more than that, but for memmove, which belongs to the others.
            self.assertEqual({name for name in named - missing if name.startswith("bm_")}, set())

    def missing(self, library: Path) -> set[str]:
        """What a program must define, but for the functions of compilers themselves."""
        symbols = call(LLVM / "llvm-nm", "--quiet", library)
        wanted = set(re.findall(r" U (\w+)", symbols))
        wanted -= set(re.findall(r" [A-TV-Z] (\w+)", symbols))
        return {name for name in wanted if not name.startswith("__")}

    def named(self, readme: str) -> set[str]:
        """What the README says that one must provide."""
        section = readme.split("## What you provide")[1].split("\n## ")[0]
        functions = re.findall(r"(?m)^\w+ (bm_\w+)\(", section)
        return {*functions, *re.findall(r"`(mem\w+)`", section)}


if __name__ == "__main__":
    unittest.main()
