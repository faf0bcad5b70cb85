"""Flips one bit of a linked image per trial, boots it, and finds those that do not say so.

example:
  tools/bazel run //tools/campaigns/flips -- --part runtime

A find is a flip in weights, kernels or plan after which the image passes, hangs or ends without a
word. `--part runtime` attacks the rest instead. That code makes the checks, so some of its flips
must go unseen or hang: those are counted and are no finds.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import campaign
import machines
import parts
from campaign import Budget, Result
from machines import Machine
from parts import Region
from rich.console import Console

from tools import cli
from tools.run import result
from tools.run.decode_status import decode
from tools.run.kit import Kit

REFUSED = "refused by its check"
OTHERWISE = "refused by another check"
UNCHANGED = "passed without a word, outputs unchanged"
CHANGED = "passed without a word, outputs changed"
HUNG = "hung"
SILENT = "ended without a word"
_FINDS = (UNCHANGED, CHANGED, HUNG, SILENT)

_TABLES = decode.read_tables(Path(decode.STATUS_H).read_text(encoding="utf-8"))
_WORD = re.compile("[0-9a-f]{8}")


@dataclass(frozen=True)
class Target:
    """An image under attack: its ELF, where its parts are, and how it ends undamaged."""

    path: Path
    parts: dict[str, tuple[Region, ...]]
    machine: Machine
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Flip:
    """One bit of a file."""

    offset: int
    bit: int

    def apply(self, image: bytes) -> bytes:
        damaged = bytearray(image)
        damaged[self.offset] ^= 1 << self.bit
        return bytes(damaged)


def place(regions: tuple[Region, ...], number: int) -> Flip:
    """Returns bit `number` of the regions."""
    for region in regions:
        if number < 8 * region.size:
            return Flip(region.offset + number // 8, number % 8)
        number -= 8 * region.size
    raise IndexError(number)


def hashes(run: result.Outcome) -> tuple[str, ...]:
    """The hashes of all outputs of a run."""
    return tuple(record.text for record in run.records("HASH"))


def outcome(run: result.Outcome, sound: tuple[str, ...]) -> str:
    """Names how a damaged image ended; `sound` are the hashes of the undamaged one."""
    if result.judge(run).ok:
        return UNCHANGED if hashes(run) == sound else CHANGED
    errors = run.records("ERROR")
    if errors:
        return REFUSED if _is_damage(errors[0].fields.get("status", "")) else OTHERWISE
    if run.records("TRAP"):
        return "trapped"
    if run.records("FAIL"):
        return "failed its golden data"
    return HUNG if run.exit_status is None else SILENT


def _is_damage(status: str) -> bool:
    # The code that prints the word may be what is damaged.
    if not _WORD.fullmatch(status):
        return False
    return decode.decode(int(status, 16), _TABLES).code == "DAMAGED"


def trial(number: int, budget: Budget, targets: list[Target], attacked: list[str]) -> Result:
    """Flips a bit of one part of one image; every part is as likely, whatever its size."""
    random = budget.random(number)
    target = random.choice(targets)
    part = random.choice([part for part in attacked if target.parts.get(part)])
    regions = target.parts[part]
    flip = place(regions, random.randrange(8 * sum(region.size for region in regions)))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged.elf"
        damaged.write_bytes(flip.apply(target.path.read_bytes()))
        run = target.machine.boot(damaged)
    ended = outcome(run, target.hashes)
    find = None
    if part != parts.RUNTIME and ended in _FINDS:
        where = (
            f"{target.path.name}: bit {flip.bit} of byte {flip.offset:#x} of the file, in {part}"
        )
        find = "\n".join(
            [f"seed {budget.seed}, trial {number}", where, ended, *run.lines[-20:], ""]
        )
    return Result(number, f"{part}: {ended}", find)


def _trials(budget: Budget, targets: list[Target], attacked: list[str]) -> Iterator[Result]:
    for number in budget.trials():
        yield trial(number, budget, targets, attacked)


@cli.program("flips", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    campaign.add_arguments(parser, count=2000)
    parser.add_argument("--image", type=Path, action="append", required=True, help="ELF to damage")
    parser.add_argument("--emulator", choices=("spike", "qemu"), default="spike")
    parser.add_argument("--part", choices=(*parts.MODEL, parts.RUNTIME), action="append")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as root:
        kit = Kit.load(machines.KIT, Path(root))
        start = machines.spike if options.emulator == "spike" else machines.qemu
        targets = []
        for path in options.image:
            machine, run = start(kit, path)
            targets.append(Target(path, parts.find(path), machine, hashes(run)))
        budget = campaign.budget(options)
        return campaign.run(
            "flips",
            _trials(budget, targets, options.part or list(parts.MODEL)),
            count=budget.count,
            finds=options.finds,
            console=Console(),
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
