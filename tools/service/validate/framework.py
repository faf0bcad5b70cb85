"""What a model's own framework answers to the user's inputs, computed by `bmc import`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.dtype import Array
from tools.cli import UserError

# As in the build: frameworks look for a home folder and model hubs.
_ENV = {"HF_HUB_OFFLINE": "1", "HOME": "/nonexistent", "PYTHONHASHSEED": "0"}
# Variables of Bazel that make the program begin in another folder, where the model is not.
_MOVES = ("BUILD_WORKING_DIRECTORY", "RUN_UNDER_RUNFILES")


def answers(importer: Sequence[str], inputs: Mapping[str, Array]) -> ImportedModel:
    """Imports the model again with other cases; its golden data are the inputs and the framework's outputs.

    Args:
      importer: the command that imported the model, without its output folder.
      inputs: the arrays of a file for `bmc import --inputs`.

    Raises:
      UserError: the framework refuses the inputs.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
        out = folder / "import"
        command = [*importer, "--inputs", str(folder / "inputs.npz"), "--out", str(out)]
        env = {name: value for name, value in os.environ.items() if name not in _MOVES}
        # Frameworks warn of many things that are no concern of the user's.
        done = subprocess.run(
            command, env=env | _ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            print(done.stdout.decode("utf-8", "replace"), end="", file=sys.stderr)
            raise UserError("the framework did not compute these inputs; what it said is above")
        return artifacts.load(out)
