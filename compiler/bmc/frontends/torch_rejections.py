"""Says which op of a PyTorch model torch-mlir rejects, and in which line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bmc import factory
from bmc.errors import BmcError
from bmc.frontends import torch_places

_OP = re.compile(r"'torch\.operator'.*?name = \"([^\"]+)\"|'([a-z]+\.[\w.]+)'")
# Ops that make arguments of other ops; users do not write them. An error names the op that reads them.
_ARGUMENTS = ("torch.constant.", "torch.prim.", "torch.vtensor.literal")


def of_lowering(
    location: str, message: str, ops: Sequence[Any], reproducer: Path | None, program: Any
) -> BmcError:
    """Returns the error for an op that torch-mlir imported among `ops`, but cannot lower."""
    found = _OP.search(message)
    op = (found[1] or found[2]) if found else ""
    if op.startswith(_ARGUMENTS):
        readers = [o for o in ops if o.name.startswith("torch.")]
        readers = [o for o in readers if not o.name.startswith(_ARGUMENTS)]
        if readers:
            op, location, message = readers[0].name, str(readers[0].location), ""
    op = op.removeprefix("torch.")
    at = torch_places.line_of_location(location)
    here = {node for node in program.graph.nodes if at and _line(node) == at}
    named = {node for node in program.graph.nodes if op and f"{node.target}.".startswith(f"{op}.")}
    # torch-mlir may have made the op of another one.
    written = _written(here & named) or _written(named) or _written(here)
    what = f"op '{written[0]}'" if len(written) == 1 else "a part of the model"
    hint = "rewrite that part of the model with other ops"
    reason = re.split(r': [%"]', message, maxsplit=1)[0].partition("\n")[0][:200]
    if reason and not reason.startswith("failed to legalize"):
        hint += f"; torch-mlir's reason: {reason}"
    return BmcError(
        "op-rejected",
        f"torch-mlir cannot lower {what}",
        where=at,
        hint=f"{hint}; reproducer: {reproducer}" if reproducer else hint,
    )


def _written(nodes: Iterable[Any]) -> list[str]:
    """Returns the names of the ops that a user wrote for some nodes, each once."""
    calls = (node for node in nodes if node.op == "call_function")
    return sorted(set(map(torch_places.written, calls)))


def _line(node: Any) -> str:
    return torch_places.line_of_trace(node.meta.get("stack_trace") or "")


def of_import(program: Any, error: Exception) -> BmcError:
    """Returns the error for an op that torch-mlir cannot import; the message's text identifies the op."""
    text = factory.first_line(error)
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op == "call_function" and name and name in text:
            return BmcError(
                "op-rejected",
                f"torch-mlir cannot import op '{torch_places.written(node)}'",
                where=_line(node),
                hint=f"rewrite that part of the model with other ops; torch-mlir's reason: {text}",
            )
    for node in program.graph.nodes:
        if text == str(getattr(node.meta.get("val"), "dtype", "")):
            return BmcError(
                "op-rejected",
                f"torch-mlir has no tensors of {text}, such as op '{torch_places.written(node)}' returns",
                where=_line(node),
                hint="use int64 or a smaller type",
            )
    return BmcError("op-rejected", f"torch-mlir rejects the model: {text}")
