"""The runtime's unit tests, built for this machine with sanitizers, one object after the other and without Bazel."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# As //runtime_bm:copts.bzl and the toolchain for hosts have them.
_PLAIN = (
    *("-std=c11", "-O1", "-g0", "-ffreestanding", "-fno-math-errno", "-fno-trigraphs", "-I."),
    # Behind -w, nothing would be an error.
    *("-Wno-everything", "-Werror=unused-result", "-Werror=return-type"),
    "-Werror=incompatible-pointer-types",
)
# Without places in the source, which mutants move: a status has its line.
_CODE = (*_PLAIN, "-D__LINE__=1")
_COMPILE = (*_PLAIN, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_HERE, _BOARD = ("x86_64", "riscv64")
_FOLDERS = ("runtime_bm", "boards/host_x86_64")
# What only boards have, other programs, and what a test includes as text.
_NOT_THESE = re.compile(
    r"/(examples|fuzz|firmwares)/|main\.c$|_share(_test)?\.c$|/harts/|thread_harts|share_kernels|profile_(on|harts)"
    r"|crt/(image|memory|soft_float|sqrt)\.c$|testing/(quantize|compare)\.c$"
)
_SECONDS = 60.0


@dataclass(frozen=True)
class Program:
    """A unit test: its source, the objects it is linked of, and what they were built from."""

    source: str
    objects: tuple[str, ...]
    loads: frozenset[str]


@dataclass(frozen=True)
class Builder:
    """Objects of a checkout in a folder."""

    clang: Path
    ar: Path
    tree: Path
    objects: Path

    def programs(self) -> list[Program]:
        """Builds all that can be built for this machine, and returns the unit tests that pass."""
        sources = [
            path for folder in _FOLDERS for path in sorted((self.tree / folder).rglob("*.c"))
        ]
        names = [path.relative_to(self.tree).as_posix() for path in sources]
        needs = {}
        for source in names:
            if not _NOT_THESE.search(source) and self._compile(source, self.objects):
                needs[source] = _needs(self.objects / _object(source, ".d"))
                for target in (_HERE, _BOARD):
                    to = self.objects / f"{_object(source)}.{target}"
                    self._clang([*_CODE, f"--target={target}", "-c", source, "-o", to])
        tests = [s for s in needs if s.endswith("_test.c") and not s.endswith("/bm_test.c")]
        library = [self.objects / _object(source) for source in needs if source not in tests]
        archive = self.objects / "all.a"
        subprocess.run([self.ar, "rcs", archive, *library], check=True, capture_output=True)
        sources_of = {_object(source): source for source in needs}
        found = []
        for source in tests:
            done = self._link([self.objects / _object(source), archive], "-Wl,--trace")
            if done.returncode:
                continue
            objects = sorted(
                {name for name in re.findall(r"[\w.]+\.o", done.stdout) if name in sources_of}
            )
            loads = frozenset(file for name in objects for file in needs[sources_of[name]])
            program = Program(source, tuple(objects), loads)
            if self.passes(program, {}):
                found.append(program)
        return found

    def rebuilt(self, program: Program, file: str, folder: Path) -> dict[str, Path] | None:
        """Compiles again what includes a file; returns the objects that changed, None if one is no C any more."""
        changed = {}
        for name, source in self._including(program, file):
            if not (folder / name).exists() and not self._compile(source, folder):
                return None
            if self._differs(source, folder, _HERE):
                changed[name] = folder / name
        return changed

    def differs_on_boards(self, program: Program, file: str, folder: Path) -> bool:
        """Whether a file is another one for boards, though not for this machine."""
        return any(self._differs(s, folder, _BOARD) for _, s in self._including(program, file))

    def _including(self, program: Program, file: str) -> list[tuple[str, str]]:
        """The objects that include a file, and their sources."""
        needs = [
            (name, _needs((self.objects / name).with_suffix(".d"))) for name in program.objects
        ]
        return [(name, files[0]) for name, files in needs if file in files]

    def _differs(self, source: str, folder: Path, target: str) -> bool:
        """Whether the instructions of a source are not those of the checkout as it was; compiles each once."""
        codes = [path / f"{_object(source)}.{target}" for path in (folder, self.objects)]
        if not codes[0].exists():
            self._clang([*_CODE, f"--target={target}", "-c", source, "-o", codes[0]])
        after, before = (path.read_bytes() if path.exists() else b"" for path in codes)
        return after != before

    def passes(self, program: Program, changed: dict[str, Path]) -> bool:
        """Whether a test passes with some of its objects changed."""
        objects = [changed.get(name, self.objects / name) for name in program.objects]
        if self._link(objects).returncode:
            return False
        try:
            run = subprocess.run(
                [self.objects / "test"], capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0

    def is_c(self, file: str, text: str) -> bool:
        """Whether a compiler accepts the text in the place of a file."""
        several = ["-DBM_SEVERAL_HARTS"] if re.search(r"_share|/harts/", file) else []
        command = [self.clang, *_COMPILE, *several, "-fsyntax-only", "-x", "c", "-"]
        done = subprocess.run(
            command, cwd=self.tree, input=text, capture_output=True, text=True, check=False
        )
        return done.returncode == 0

    def _compile(self, source: str, folder: Path) -> bool:
        to = folder / _object(source)
        return self._clang([*_COMPILE, "-MMD", "-c", source, "-o", to]).returncode == 0

    def _link(self, inputs: Iterable[Path], *flags: str) -> subprocess.CompletedProcess[str]:
        to = ["-o", self.objects / "test"]
        linker = ["-fuse-ld=lld", "-fsanitize=address,undefined", "-pthread"]
        return self._clang([*linker, *flags, *inputs, *to])

    def _clang(self, arguments: Iterable[str | Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.clang, *arguments], cwd=self.tree, capture_output=True, text=True, check=False
        )


def _object(source: str, suffix: str = ".o") -> str:
    return source.removesuffix(".c").replace("/", "_") + suffix


def _needs(path: Path) -> list[str]:
    """The source of an object, and the files of the checkout that it includes."""
    words = path.read_text(encoding="utf-8").partition(": ")[2].replace("\\\n", " ").split()
    return [word.removeprefix("./") for word in words if not word.startswith("/")]
