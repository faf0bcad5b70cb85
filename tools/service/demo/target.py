"""A model on its target, by the names of its tensors: what a page sends goes in, what it shows comes out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import Array, DType
from tools.cli import UserError
from tools.service.service import Service, ServiceError

Json = Any
Prepare = Callable[[Json], Mapping[str, Json]]


class RequestError(UserError):
    """A request does not fit the model."""


def entries(report: Json) -> dict[str, Signature]:
    """Returns the entry points of a model's report; the first is the one that a request means if it names none."""

    def tensors(rows: Json) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(row["name"], DType[row["dtype"].upper()], tuple(row["shape"]))
            for row in rows
        )

    return {
        entry["name"]: Signature(entry["name"], tensors(entry["inputs"]), tensors(entry["outputs"]))
        for entry in report["entries"]
    }


def _read(tensor: TensorInfo, value: Json) -> Array:
    """Makes an array of nested or flat lists of numbers; bfloat16 travels as its bits. Raises RequestError."""
    dtype = tensor.dtype.numpy
    wanted = f"{tensor.name} is {'x'.join(map(str, tensor.shape))} numbers of type {dtype}"
    try:
        given = np.asarray(value)
    except ValueError:
        raise RequestError(f"{wanted}, and the page sent lists of different lengths") from None
    if given.dtype.kind not in "biuf":
        raise RequestError(f"{wanted}, and the page sent something that is no number")
    if given.size != math.prod(tensor.shape):
        raise RequestError(f"{wanted}, and the page sent {given.size}")
    with np.errstate(all="ignore"):
        array = given.astype(dtype).reshape(tensor.shape)
    if dtype.kind != "f" and not np.array_equal(array.ravel(), given.ravel()):
        raise RequestError(f"{wanted}, and the page sent others")
    return array


class Target:
    """Runs one request after the other. Requests may come from several threads.

    Args:
      service: with the model open.
      model: the model's entry points.
      prepare: makes inputs of what a page sends.
    """

    def __init__(self, service: Service, model: Mapping[str, Signature], prepare: Prepare) -> None:
        self._service = service
        self._model = model
        self._prepare = prepare
        self._lock = threading.Lock()
        self._sequence = 0

    def run(self, request: Json) -> Json:
        """Runs the model once.

        Args:
          request: `inputs`, and for a model with several entry points or state: `entry`, a name; `reset`, whether
            to begin with the initial state; `sequence`, what the answer to the call that did so says.

        Returns:
          `outputs` by name, as nested lists, `instructions`, `seconds` and `sequence`.

        Raises:
          RequestError: the request does not fit the model.
          UserError: the target is gone.
        """
        if not isinstance(request, dict):
            raise RequestError("a request is an object with the model's inputs")
        name = request.get("entry", next(iter(self._model)))
        entry = self._model.get(name) if isinstance(name, str) else None
        if entry is None:
            raise RequestError(
                f"the model has no entry point {name}: it has {', '.join(self._model)}"
            )
        inputs = self._inputs(entry, request.get("inputs"))
        with self._lock:
            self._begin(name, request)
            started = time.monotonic()
            try:
                run = self._service.run([array.tobytes() for array in inputs])
            except ServiceError as error:
                raise _gone(error) from error
            seconds = time.monotonic() - started
            sequence = self._sequence
        outputs = {}
        for tensor, data in zip(entry.outputs, run.outputs, strict=True):
            array = np.frombuffer(data, tensor.dtype.numpy).reshape(tensor.shape)
            if not np.isfinite(array).all():
                raise RequestError(f"{tensor.name} has values that are infinite or no numbers")
            outputs[tensor.name] = array.tolist()
        return {
            "outputs": outputs,
            "instructions": run.instret,
            "seconds": seconds,
            "sequence": sequence,
        }

    def _inputs(self, entry: Signature, given: Json) -> list[Array]:
        try:
            values = self._prepare(given)
        except ValueError as error:
            raise RequestError(str(error)) from error
        except Exception as error:
            raise RequestError(f"prepare failed: {type(error).__name__}: {error}") from error
        names = [tensor.name for tensor in entry.inputs]
        if not isinstance(values, dict) or set(values) != set(names):
            raise RequestError(f"`inputs` is an object with {', '.join(names)}")
        return [_read(tensor, values[tensor.name]) for tensor in entry.inputs]

    def _begin(self, name: str, request: Json) -> None:
        """Brings the model to the state and entry point that a request means."""
        try:
            if request.get("reset"):
                self._service.reset()
                self._sequence += 1
            elif request.get("sequence", self._sequence) != self._sequence:
                raise RequestError("another window has started the model anew: start again here")
            self._service.entry(name)
        except ServiceError as error:
            raise _gone(error) from error


def _gone(error: ServiceError) -> UserError:
    return UserError(f"{error}; start the demo again")
