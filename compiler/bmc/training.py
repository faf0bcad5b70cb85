"""Trains a model as a step of its own, and reads what that step has stored.

usage: training.py TRAINING.PY:FUNCTION OUT.npz

A build runs this for bm_weights, so weights are trained again only after their training has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from bmc import arithmetic, errors, factory
from bmc.errors import BmcError
from bmc.spec import Array


def weights(trainer: ModuleType) -> list[Array]:
    """Returns the arrays that the function of a bm_weights returned.

    Args:
      trainer: the imported `src` of the bm_weights.

    Raises:
      FileNotFoundError: that module is not from the `deps` of the bm_model.
    """
    path = Path(str(trainer.__file__)).with_suffix(".npz")
    if not path.is_file():
        raise FileNotFoundError(f"{path.name} is missing: name the bm_weights in deps")
    with np.load(path) as file:
        return [file[name] for name in file.files]


def train(source: str, out: Path) -> None:
    """Calls `path/to/training.py:function` and stores the arrays that it returns.

    Raises:
      BmcError: the function fails, or returns something else.
    """
    arithmetic.pin()
    with factory.called(source, object) as arrays:
        if not isinstance(arrays, list) or not all(isinstance(a, np.ndarray) for a in arrays):
            raise BmcError(
                "bad-weights",
                f"{Path(source).name} returned something else than a list of NumPy arrays",
            )
        np.savez(out, *arrays)


def main(source: str, out: str) -> int:
    try:
        train(source, Path(out))
    except BmcError as error:
        sys.stderr.write(f"bmc: {error}\n")
        return errors.EXIT_USER_ERROR
    return 0


if __name__ == "__main__":
    # As in bmc, so that weights are the same on every machine.
    arithmetic.enter()
    sys.exit(main(*sys.argv[1:]))
