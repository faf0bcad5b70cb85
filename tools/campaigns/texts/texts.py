"""Digests of the text of every kernel that bmc writes, which tell what a change of the generator did to them.

Problems come from models: folders of `bmc import`, which are compiled once for each instruction set in ISAS. Each
problem is written for every VLEN in VLENS, whole and in pieces for harts. A change that only moves code leaves all
texts as they are; where it gives other registers, only "renamed" stays. Kernels of tests come from the tests of
compiler/bmc/kernels, which run them.

A line of the file of digests is about one model or one file of tests: how many texts, their digest, and the digest of
the same texts with registers renamed in the order of their first use.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import sys
import tempfile
import unittest
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console

from bmc import artifacts, compile
from bmc import target as targets
from bmc.errors import BmcError
from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.schedule import fastest, workgroups
from bmc.kernels.schedule import write as kernels
from bmc.kernels.unsupported import Unsupported
from tools import cli

ISAS = ("rv64gcv_zfh_zvfh_zvl256b",)
VLENS = (128, 256, 512, 1024)
HARTS = 4
_DIGESTS = Path("tools/campaigns/texts/digests.txt")
_HEADER = "# Texts of kernels. Renew it with: tools/bazel run //tools/campaigns/texts -- --update FOLDER..."
_PROCESSES = 2
_XLEN = 64
_REGISTER = re.compile(r"\b([xfv])(\d+)\b")


@dataclass(frozen=True)
class Digest:
    """What is known of the texts of one source.

    Attributes:
      texts: how many there are.
      exact: of the texts as they are.
      renamed: of the texts with registers renamed.
    """

    texts: int
    exact: str
    renamed: str

    @staticmethod
    def of(texts: Sequence[str]) -> Digest:
        return Digest(len(texts), _sha(texts), _sha(map(renamed, texts)))

    def line(self, source: str) -> str:
        return f"{source} texts={self.texts} exact={self.exact} renamed={self.renamed}"


def _sha(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def renamed(text: str) -> str:
    """Returns assembly whose registers have numbers in the order of their first use."""
    names: dict[str, str] = {}
    counts = dict.fromkeys("xfv", 0)

    def name(match: re.Match[str]) -> str:
        register, kind = match.group(0), match.group(1)
        if register == "v0" or register == "x0":
            return register
        if register not in names:
            names[register] = f"{kind}{counts[kind]}"
            counts[kind] += 1
        return names[register]

    return _REGISTER.sub(name, text)


def problems(folder: Path) -> list[Problem]:
    """Returns the problems of an imported model for which bmc writes kernels, each once, in order.

    Raises:
      BmcError: the model cannot be compiled.
    """
    # Parts that compute in floating point are as welcome as others.
    model = replace(artifacts.load(folder), mixed=True)
    found: dict[Problem, None] = {}
    for isa in ISAS:
        target = targets.find(isa)
        with tempfile.TemporaryDirectory() as work:
            options = compile.CompileOptions("m", target, Path(work) / "out")
            options.out.mkdir()
            lowered = compile.lower(model, options, Path(work))
        found |= {config.problem: None for config in lowered.configs if config.problem}
    return list(found)


def texts(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yields the text of a problem for every VLEN, whole and in pieces, each with a name."""
    for vlen in VLENS:

        def write(piece: Problem, vlen: int = vlen) -> Any:
            return kernels.write(piece, vlen, _XLEN)

        try:
            kernel = write(problem)
        except Unsupported as reason:
            yield f"vlen{vlen}", f"unsupported: {reason}"
            continue
        yield f"vlen{vlen}", kernel.text
        if isinstance(problem, Scatter):
            continue
        pieces = workgroups.cut(
            problem, kernel, HARTS, write, partial(fastest.best, vlen=vlen, core=None)
        )
        if pieces:
            yield f"vlen{vlen}.piece", pieces.kernel.text
            if pieces.smaller:
                yield f"vlen{vlen}.smaller", pieces.smaller.text


def of_tests(modules: Sequence[str]) -> dict[str, list[str]]:
    """Runs tests of kernels; returns the texts of the kernels that they ran, by module."""
    machine: Any = importlib.import_module("riscv").Machine
    run = machine.run
    found: dict[str, list[str]] = {}
    for module in modules:
        seen: list[str] = []

        def record(self: Any, text: str, *args: Any, seen: list[str] = seen, **kwargs: Any) -> Any:
            seen.append(text)
            return run(self, text, *args, **kwargs)

        suite = unittest.defaultTestLoader.loadTestsFromName(module)
        with mock.patch.object(machine, "run", record), io.StringIO() as errors:
            result = unittest.TextTestRunner(stream=errors).run(suite)
            if not result.wasSuccessful():
                raise cli.UserError(f"{module} fails:\n{errors.getvalue()}")
        if seen:
            found[module.rpartition(".")[2]] = seen
    return found


def kernel_tests() -> list[str]:
    """Returns the modules with tests of kernels."""
    folder = Path(kernels.__file__).parents[1]
    root = folder.parents[1]
    return sorted(
        ".".join(file.relative_to(root).with_suffix("").parts) for file in folder.rglob("*_test.py")
    )


def read_digests(file: Path) -> dict[str, str]:
    """Returns the lines of a file of digests, by source."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {line.partition(" ")[0]: line for line in lines if not line.startswith("#")}


def of_model(folder: Path, write: Path | None) -> Digest:
    """Returns the digest of the texts of an imported model, and writes them into a folder."""
    found = problems(folder)
    with ProcessPoolExecutor(_PROCESSES) as pool:
        named = list(pool.map(_texts, found))
    for number, (problem, each) in enumerate(zip(found, named, strict=True)):
        for name, text in each if write else ():
            assert write is not None
            file = write / _source(folder) / f"{number:03}.{type(problem).__name__}.{name}.S"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return Digest.of([text for each in named for _, text in each])


def _texts(problem: Problem) -> list[tuple[str, str]]:
    return list(texts(problem))


def _source(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name.removesuffix('._imported')}"


def compared(old: str | None, new: str) -> str:
    """Returns how a line of the file of digests became another one."""
    if old is None:
        return "new"
    if old == new:
        return "same"
    is_renamed = old.rpartition("renamed=")[2] == new.rpartition("renamed=")[2]
    return "other registers" if is_renamed else "differs"


@cli.program("texts", __doc__.partition("\n")[0])
def main(parser: cli.Parser, argv: list[str]) -> int:
    """Compares digests with those of the file; returns 1 if any text differs."""
    parser.add_argument("folders", nargs="*", type=Path, help="folders of `bmc import`")
    parser.add_argument("--update", action="store_true", help="write the file instead")
    parser.add_argument("--write", type=Path, help="folder for the texts, to compare two of them")
    options = parser.parse_args(argv)
    console = Console(highlight=False)
    file = cli.workspace() / _DIGESTS
    old = read_digests(file)
    new = {}
    for folder in options.folders:
        source = _source(folder)
        try:
            new[source] = of_model(folder, options.write).line(source)
        except BmcError as error:
            raise cli.UserError(f"{source}: {error}") from None
        console.print(f"{compared(old.get(source), new[source]):16}{source}")
    for source, found in of_tests(kernel_tests()).items():
        new[source] = Digest.of(found).line(source)
        console.print(f"{compared(old.get(source), new[source]):16}{source}")
    if options.update:
        lines = sorted((old | new).values())
        file.write_text("\n".join([_HEADER, *lines, ""]), encoding="utf-8")
        return 0
    return int(any(compared(old.get(source), line) == "differs" for source, line in new.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
