"""Calls `model.py:factory`, which trains a model and returns its weights, and stores them."""

from __future__ import annotations

import sys

import numpy as np

from bmc import arithmetic, factory


def main(source: str, out: str) -> None:
    arithmetic.pin()
    with factory.called(source, list) as weights:
        np.savez(out, *weights)


if __name__ == "__main__":
    # As in bmc, so that weights are the same on every machine.
    arithmetic.enter()
    main(*sys.argv[1:])
