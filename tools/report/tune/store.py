"""What a search has measured, as text: one line of JSON for each kernel, so that a search that was stopped goes on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tools.report.tune.trial import Cost


def folder() -> Path:
    """Returns the folder for such files, in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "") or os.path.join(Path.home(), ".cache")
    return Path(cache) / "ironcast" / "tune"


def name(*parts: str) -> str:
    """Returns the name of the file for everything that the costs depend on."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] + ".jsonl"


@dataclass(frozen=True)
class Store:
    """The costs in one file, by the name in tuning.json and the entry."""

    path: Path

    def read(self) -> dict[tuple[str, str], Cost]:
        """Returns all of them; drops a last line that was cut while it was written."""
        if not self.path.exists():
            return {}
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self.path.write_bytes(whole)
        lines = [json.loads(line) for line in whole.decode().splitlines()]
        return {(line.pop("key"), line.pop("entry")): Cost(**line) for line in lines}

    def add(self, costs: dict[tuple[str, str], Cost]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            for (key, entry), cost in costs.items():
                line = {"key": key, "entry": entry, **dataclasses.asdict(cost)}
                file.write(json.dumps(line) + "\n")
