"""A file of what a campaign has finished, so that a run that was cut goes on where it stopped.

Each line is JSON: the seed, the first trial and their number, the trials of each outcome, and the texts of finds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from campaign import Result


@dataclass(frozen=True)
class Log:
    """The results in `path` that belong to `seed`."""

    path: Path
    seed: int

    def read(self) -> list[Result]:
        """Returns the results so far; drops a last line that was cut while it was written.

        Raises:
          AttributeError, KeyError, OSError, TypeError, ValueError: it is some other file.
        """
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self.path.write_bytes(whole)
        entries = [json.loads(line) for line in whole.decode().splitlines()]
        return [
            Result(trial, outcome, entry["finds"].get(str(trial)))
            for entry in entries
            if entry["seed"] == self.seed
            for outcome, trials in entry["outcomes"].items()
            for trial in trials
        ]

    def add(self, results: list[Result]) -> None:
        """Adds the results of trials that ran together."""
        outcomes: dict[str, list[int]] = {}
        for result in results:
            outcomes.setdefault(result.outcome, []).append(result.trial)
        entry = {
            "seed": self.seed,
            "first": min(result.trial for result in results),
            "count": len(results),
            "outcomes": outcomes,
            "finds": {str(r.trial): r.find for r in results if r.find is not None},
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
