"""Cases of a model whose import fails if it can reach a network from inside Bazel's sandbox."""

import socket
from pathlib import Path

import numpy as np

from bmc import spec


def doubled() -> spec.Cases:
    if Path("/proc/1/comm").read_text(encoding="utf-8").strip() == "linux-sandbox":
        _require_no_route()
    x = np.arange(4, dtype=np.float32)
    return spec.Cases(((x,),), spec.Exact(), ((x + x,),))


def _require_no_route() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Of the documentation; nothing is sent.
        except OSError:
            return
    raise RuntimeError("an import reaches the network")
