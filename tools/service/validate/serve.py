"""Makes calls for another program, `ironcast.Session`, over standard input and output.

The first line tells the model's entry points. Then each request is a line of JSON, followed by the bytes of its arrays:
`entry` is the entry point to call, null to reset the state instead, and `bytes` has the size of each array. Answers
have the same form, or a sentence as `error`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

from bmc.artifacts import Signature, TensorInfo
from tools.service.service import Service, ServiceError


def serve(
    service: Service, signatures: Sequence[Signature], requests: IO[bytes], answers: IO[bytes]
) -> None:
    """Answers requests until there are no more; the service has opened the model."""
    entries = [
        {"name": s.name, "inputs": _described(s.inputs), "outputs": _described(s.outputs)}
        for s in signatures
    ]
    _send(answers, {"entries": entries}, ())
    while line := requests.readline():
        request = json.loads(line)
        data = [requests.read(size) for size in request["bytes"]]
        try:
            if request["entry"] is None:
                service.reset()
                _send(answers, {}, ())
            else:
                service.entry(request["entry"])
                run = service.run(data)
                _send(answers, {"instret": run.instret, "cycles": run.cycles}, run.outputs)
        except ServiceError as error:
            _send(answers, {"error": str(error)}, ())


def _described(tensors: Sequence[TensorInfo]) -> list[dict[str, Any]]:
    return [
        {"name": tensor.name, "dtype": tensor.dtype.name, "shape": tensor.shape}
        for tensor in tensors
    ]


def _send(answers: IO[bytes], answer: dict[str, Any], data: Sequence[bytes]) -> None:
    line = json.dumps({**answer, "bytes": [len(part) for part in data]}) + "\n"
    answers.write(line.encode() + b"".join(data))
    answers.flush()
