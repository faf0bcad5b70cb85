"""The tables of cores, and by which names cores are asked for."""

from __future__ import annotations

import contextlib
import io
import unittest
from unittest import mock

from rich.console import Console

from tools.report.bench import bench, builds, cores
from tools.report.bench.core_cycles import ModelCycles, OnCore

MODELS = (
    ModelCycles(
        "net",
        5,
        4,
        (
            OnCore("ara", "", 4000, 4000),
            OnCore("x60", "", 1100, 1000),
            OnCore("x60", "no waits", 999.9, 1000),
            OnCore("x60", "halved", 3000, 2000),
        ),
    ),
    ModelCycles(
        "soft",
        1,
        0,
        (
            OnCore("ara", "", 0, 0),
            OnCore("x60", "", 0, 0),
            OnCore("x60", "no waits", 0, 0),
            OnCore("x60", "halved", 0, 0),
        ),
    ),
)


def shown(*wanted: str) -> list[list[str]]:
    """Returns the words of each line."""
    out = io.StringIO()
    Console(file=out, width=100, highlight=False).print(*cores.tables(MODELS, wanted), sep="\n")
    return [line.split() for line in out.getvalue().splitlines()]


class CoresTest(unittest.TestCase):
    def test_cycles_and_what_the_default_costs(self) -> None:
        lines = shown()
        self.assertIn(["ara", "x60", "own", "model"], lines)
        self.assertIn(["4,000", "1,100", "4", "of", "5", "net"], lines)
        self.assertIn(["ara", "x60", "x60-w", "x60/2", "model"], lines)
        self.assertIn(["0.0", "10.0", "0.0", "50.0", "net"], lines)
        # A model all of whose kernels are IREE's.
        self.assertIn(["0.0", "0.0", "0.0", "0.0", "soft"], lines)
        self.assertIn(["0.0", "5.0", "0.0", "25.0", "mean"], lines)

    def test_one_core(self) -> None:
        lines = shown("x60")
        self.assertIn(["10.0", "0.0", "50.0", "net"], lines)
        self.assertIn(["1,100", "4", "of", "5", "net"], lines)


class NamesTest(unittest.TestCase):
    def said(self, *words: str) -> tuple[int, str, list[str]]:
        """Returns the exit status, what was said, and the core that llvm-mca would be asked for."""
        asked: list[str] = []

        def benches(names: list[str], vlens: list[int], core: str) -> list[str]:
            asked.append(core)
            return []

        with (
            contextlib.redirect_stderr(io.StringIO()) as errors,
            contextlib.redirect_stdout(io.StringIO()),
            mock.patch.object(builds, "benches", benches),
            mock.patch.object(builds, "on_cores", lambda names: ["//m:m.cores"]),
            mock.patch.object(
                builds, "results", lambda labels, kind: {"m": MODELS} if labels else {}
            ),
        ):
            return bench.main(["m", *words]), errors.getvalue(), asked

    def test_cores_have_the_names_of_the_compiler(self) -> None:
        self.assertEqual(self.said(), (0, "", ["sifive-x280"]))
        self.assertEqual(self.said("--core", "x60"), (0, "", ["spacemit-x60"]))

    def test_old_names_are_taken_with_a_sentence(self) -> None:
        status, said, asked = self.said("--core", "spacemit-x60")
        self.assertEqual((status, asked), (0, ["spacemit-x60"]))
        self.assertEqual(
            said, "bench: spacemit-x60 is called x60 here, as in `bmc compile --core`\n"
        )

    def test_cores_that_there_are_not(self) -> None:
        status, said, asked = self.said("--core", "ara")
        self.assertEqual((status, asked), (1, []))
        self.assertIn("llvm-mca has no model of a core 'ara'; it has x280, x60, and --cores", said)
        status, said, _ = self.said("--cores", "--core", "x61")
        self.assertEqual((status, said), (1, "bench: there is no core 'x61'; there are ara, x60\n"))
        self.assertEqual(self.said("--cores", "--core", "x60")[:2], (0, ""))


if __name__ == "__main__":
    unittest.main()
