"""Makes Clip of floats keep NaN, and limit to finite numbers what has no limit of its own, as onnxruntime does.

IREE's importer compares so that NaN counts as being beyond a limit, and leaves out a limit that is missing. There the
standard has the least or the largest number of the type, which infinity is beyond.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph

# The numbers of arith's comparisons of floats: less and greater, where NaN is so or not.
_ORDERED = {9: 2, 11: 4}


def limit(graph: Graph, node: Any) -> bool:
    """Gives a Clip of floats the limits that it lacks; returns whether it is one of floats."""
    dtype = graph.dtype(node.input[0])
    if dtype.kind != "f":
        return False
    limits = [*node.input[1:], "", ""][:2]
    if not all(limits):
        info = np.finfo(dtype)
        del node.input[1:]
        for given, missing in zip(limits, (info.min, info.max), strict=True):
            node.input.append(given or graph.initializer(np.array(missing, dtype), node))
    return True


def keep_nan(path: Path, names: Iterable[str]) -> None:
    """Changes the comparisons of what nodes of these names have become in a file of MLIR."""
    from iree.compiler import ir

    from bmc.ir import ir_util

    names = list(names)
    if not names:
        return
    with ir.Context(), ir.Location.unknown():
        places = {str(ir.Location.name(name)) for name in names}
        module = ir_util.read(path)
        for op in ir_util.all_of(module, "arith.cmpf"):
            kind = ir.IntegerAttr(op.attributes["predicate"])
            if kind.value in _ORDERED and str(op.location) in places:
                op.attributes["predicate"] = ir.IntegerAttr.get(kind.type, _ORDERED[kind.value])
        ir_util.write(module, path)
