"""Links what bmc wrote into an image and boots it, with the commands that bm_link_kit recorded."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.actions.seal import instructions, seal
from tools.run import process, result

_ASSEMBLY = ("golden.S", "kernels.S", "weights.S")


@dataclass(frozen=True)
class Kit:
    """The commands, and a folder in which their paths resolve.

    Attributes:
      data: the kit's JSON.
      root: folder with links to the files that the commands use.
      runfiles: folder with the emulator and its tools.
    """

    data: dict[str, Any]
    root: Path
    runfiles: Path

    @staticmethod
    def load(path: Path, root: Path) -> Kit:
        """Reads `path`, which is in the runfiles of this process, its working folder."""
        data = json.loads(path.read_text(encoding="utf-8"))
        runfiles = Path.cwd()
        for command_path, short_path in data["files"].items():
            link = root / command_path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(os.path.normpath(runfiles / short_path)).resolve())
        return Kit(data, root, runfiles)

    def boot(self, compiled: Path) -> str:
        """Links the model that bmc compiled into the folder and runs it against its golden data.

        Returns:
          What is wrong in the first environment that finds something; "" if all are content.
        """
        elf = self.link(compiled)
        for name in self.data["runs"]:
            sentence = _judge(self.run(elf, name))
            if sentence:
                return sentence
        return ""

    def link(self, compiled: Path) -> Path:
        """Returns the image of the model that bmc compiled into the folder."""
        firmware = compiled / "firmware.c"
        firmware.write_text(self.data["firmware_c"], encoding="utf-8")
        sources = sorted(compiled.glob("*.c")) + [compiled / name for name in _ASSEMBLY]
        objects = []
        for source in sources:
            command = self.data["compile" if source.suffix == ".c" else "assemble"]
            objects.append(str(source) + ".o")
            include = ["-I", str(compiled), f"-Wa,-I{compiled}"]
            self._start([*command, *include, "-c", str(source), "-o", objects[-1]])
        elf = compiled / "model.elf"
        self._start(
            [*self.data["link"], *objects, "-Wl,--start-group", *self.data["archives"],
             "-Wl,--end-group", "-o", str(elf)]
        )  # fmt: skip
        isa = instructions.Isa(self.data["isa"], self.data["march"], tuple(self.data["unnamed"]))
        instructions.check(elf, str(self.root / self.data["objdump"]), isa)
        seal.seal_file(elf, elf)
        return elf

    def run(
        self, elf: Path, name: str, *, options: Sequence[str] = (), deadline: float | None = None
    ) -> result.Outcome:
        """Boots an image in one of the kit's environments.

        Args:
          elf: the image.
          name: the environment's name in the JSON.
          options: further arguments of the emulator.
          deadline: seconds after which it is ended; default: the environment's own.
        """
        run = self.data["runs"][name]
        program, *words = run["argv"]
        argv = [str(self.runfiles / program), *options]
        argv += [word.replace("{elf}", str(elf)) for word in words]
        tools = [str(self.runfiles / tool) for tool in run["path_tools"]]
        seconds = run["deadline_seconds"] if deadline is None else deadline
        return process.run(argv, seconds, env=process.with_tools(tools))

    def _start(self, argv: list[str]) -> None:
        done = subprocess.run(argv, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{Path(argv[0]).name} failed: {done.stderr[-2000:]}")


def _judge(outcome: result.Outcome) -> str:
    verdict = result.judge(outcome)
    if verdict.ok:
        return ""
    if outcome.records("FAIL"):
        try:
            worst = max((case.real("max_abs") for case in outcome.records("CASE")), default=0.0)
        except result.RecordError as error:
            return str(error)
        return f"the largest difference is {worst:.2g}"
    return verdict.sentence
