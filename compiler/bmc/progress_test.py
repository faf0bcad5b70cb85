"""Users see what an import does."""

from __future__ import annotations

import contextlib
import io
import logging
import unittest

from bmc import progress
from bmc.frontends import quiet


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ProgressTest(unittest.TestCase):
    def test_a_terminal_shows_each_phase_as_it_begins(self) -> None:
        seen = []
        with contextlib.redirect_stderr(_Terminal()) as terminal, progress.Phases():
            for phase in (progress.LOAD, progress.EXPORT):
                progress.begin(phase)
                seen.append(terminal.getvalue())
        self.assertEqual(seen[0], "bmc:   0.0 s: load\n")
        self.assertRegex(seen[1], r"\Abmc:   0.0 s: load\nbmc: +\d+\.\d s: export\n\Z")

    def test_nothing_elsewhere(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as log, progress.Phases():
            progress.begin(progress.LOAD)
        self.assertEqual(log.getvalue(), "")

    def test_a_phase_within_what_silences_frameworks(self) -> None:
        with contextlib.redirect_stderr(_Terminal()) as terminal, progress.Phases(), quiet.native():
            progress.begin(progress.GOLDEN)
        self.assertEqual(terminal.getvalue(), "bmc:   0.0 s: golden data\n")

    def test_seconds_of_each_phase(self) -> None:
        phases = progress.Phases()
        for phase, begin in (("load", 10.0), ("export", 16.1), ("load", 18.0)):
            record = logging.makeLogRecord({"msg": phase, "created": begin})
            phases.emit(record)
        self.assertEqual(phases.summary(19.0), "load 7.1 s, export 1.9 s")


if __name__ == "__main__":
    unittest.main()
