"""A model whose import fails if it can reach a network from inside Bazel's sandbox.

A Python file, for bmc itself takes the network away from the import of what is data.
"""

import socket
from pathlib import Path

import jax
import numpy as np

from bmc.spec import Exact, ModelSpec


def doubled() -> ModelSpec:
    if Path("/proc/1/comm").read_text(encoding="utf-8").strip() == "linux-sandbox":
        _require_no_route()

    def forward(x: jax.Array) -> jax.Array:
        return x + x

    return ModelSpec(forward, ((np.arange(4, dtype=np.float32),),), Exact())


def _require_no_route() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # An address for documentation; nothing is sent.
        except OSError:
            return
    raise RuntimeError("an import reaches the network")
