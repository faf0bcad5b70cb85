"""Runs gathers, scatters, slices and updates with index tensors that point anywhere, and compares with NumPy.

IREE's host runtime runs them under the address sanitizer, each tensor in memory of its own, on the same rewritten
operations as a target. Each trial calls every operation once, with an index tensor of its own: inside, near both ends,
far outside, and the smallest and largest numbers of its type.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import campaign
import numpy as np
import sanitized
from rich.console import Console

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import Array, DType
from bmc.reference import HostModel
from bmc.spec import Case
from tools import cli

# Sixteen operations each, so more than a million index tensors.
FULL_LENGTH = 65_000

_ROWS, _COLUMNS = 6, 5
_X = np.arange(_ROWS * _COLUMNS, dtype=np.float32).reshape(_ROWS, _COLUMNS)
_SCATTER = """"stablehlo.scatter"(%x, %i, %u) <{{indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<{0}>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {1}
  }}) : (tensor<6x5xf32>, tensor<{2}>, tensor<{3}>) -> tensor<6x5xf32>"""
_REPLACE = "stablehlo.return %b : tensor<f32>"
_ADD = "%s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>"
_GATHER = """"stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{0}>,
    slice_sizes = array<i64: {1}>}}> : (tensor<6x5xf32>, tensor<{2}>) -> tensor<{3}>"""
_BODY = """%e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%i : tensor<8xi64>) outs(%e : tensor<8xf32>) {{
  ^bb0(%in: i64, %out: f32):
    %c = arith.constant 3 : index
    %r = arith.index_cast %in : i64 to index
    %v = tensor.extract %x[%r, %c] : tensor<6x5xf32>
    linalg.yield %v : f32
  }} -> tensor<8xf32>"""


def _row(i: Array) -> Array:
    return np.clip(i.astype(np.int64), 0, _ROWS - 1)


def _column(i: Array) -> Array:
    return np.clip(i.astype(np.int64), 0, _COLUMNS - 1)


def _scattered(x: Array, i: Array, u: Array, *, add: bool) -> Array:
    result = x.copy()
    for index, update in zip(i.astype(np.int64), u, strict=True):
        if all(0 <= at < extent for at, extent in zip(index, x.shape, strict=False)):
            result[tuple(index)] = result[tuple(index)] * add + update
    return result


def _nearest(x: Array, i: Array, u: Array) -> Array:
    """TOSA's and IREE's scatters are rewritten to write to the nearest row."""
    result = x.copy()
    for index, update in zip(_row(i.reshape(-1)), u, strict=True):
        result[index] = update
    return result


def _updated(x: Array, i: Array, u: Array) -> Array:
    row, column = (int(np.clip(at, 0, last)) for at, last in zip(i, (4, 2), strict=True))
    result = x.copy()
    result[row : row + 2, column : column + 3] = u
    return result


def _sliced(x: Array, i: Array) -> Array:
    row, column = (int(np.clip(at, 0, last)) for at, last in zip(i, (4, 2), strict=True))
    return x[row : row + 2, column : column + 3]


@dataclass(frozen=True)
class Operation:
    """An operation: its MLIR, its index tensor, what it writes, the result's shape, and NumPy's answer."""

    text: str
    index: tuple[int, ...]
    dtype: str
    update: tuple[int, ...]
    result: tuple[int, ...]
    answer: Callable[..., Array]


_STARTS = """%f = stablehlo.slice %i [0:1] : (tensor<2xi32>) -> tensor<1xi32>
  %g = stablehlo.slice %i [1:2] : (tensor<2xi32>) -> tensor<1xi32>
  %p = stablehlo.reshape %f : (tensor<1xi32>) -> tensor<i32>
  %q = stablehlo.reshape %g : (tensor<1xi32>) -> tensor<i32>
  """
_TOSA = """%a = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 6, 5] : tensor<6x5xf32> into tensor<1x6x5xf32>
  %b = tensor.expand_shape %i [[0, 1]] output_shape [1, 4] : tensor<4xi32> into tensor<1x4xi32>
  """
_AT = """%zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %f = tensor.extract %i[%zero] : tensor<2xi64>
  %g = tensor.extract %i[%one] : tensor<2xi64>
  %p = arith.index_cast %f : i64 to index
  %q = arith.index_cast %g : i64 to index
  """
OPERATIONS = {
    "gather_rows": Operation(
        "%y = " + _GATHER.format("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
                                 " index_vector_dim = 1", "1, 5", "8x1xi32", "8x5xf32"),
        (8, 1), "i4", (), (8, 5), lambda x, i: x[_row(i[:, 0])],
    ),
    "gather_columns": Operation(
        "%y = " + _GATHER.format("offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1],"
                                 " index_vector_dim = 1", "6, 1", "8xi64", "6x8xf32"),
        (8,), "i8", (), (6, 8), lambda x, i: x[:, _column(i)],
    ),
    "gather_elements": Operation(
        "%y = " + _GATHER.format("collapsed_slice_dims = [0, 1], start_index_map = [0, 1],"
                                 " index_vector_dim = 1", "1, 1", "8x2xi64", "8xf32"),
        (8, 2), "i8", (), (8,), lambda x, i: x[_row(i[:, 0]), _column(i[:, 1])],
    ),
    "index_select": Operation(
        '%y = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}>'
        " : (tensor<6x5xf32>, tensor<8xi32>) -> tensor<8x5xf32>",
        (8,), "i4", (), (8, 5), lambda x, i: x[_row(i)],
    ),
    "extract": Operation(
        _BODY.replace("{{", "{").replace("}}", "}"), (8,), "i8", (), (8,), lambda x, i: x[_row(i), 3]
    ),
    "slice": Operation(
        _STARTS + "%y = stablehlo.dynamic_slice %x, %p, %q, sizes = [2, 3]"
        " : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>",
        (2,), "i4", (), (2, 3), _sliced,
    ),
    "update": Operation(
        _STARTS + "%y = stablehlo.dynamic_update_slice %x, %u, %p, %q"
        " : (tensor<6x5xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>",
        (2,), "i4", (2, 3), (6, 5), _updated,
    ),
    "scatter_rows": Operation(
        "%y = " + _SCATTER.format("update_window_dims = [1], inserted_window_dims = [0],"
                                  " scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                                  _REPLACE, "8x1xi32", "8x5xf32"),
        (8, 1), "i4", (8, 5), (6, 5), lambda x, i, u: _scattered(x, i, u, add=False),
    ),
    "scatter_elements": Operation(
        "%y = " + _SCATTER.format("inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1],"
                                  " index_vector_dim = 1", _REPLACE, "8x2xi64", "8xf32"),
        (8, 2), "i8", (8,), (6, 5), lambda x, i, u: _scattered(x, i, u, add=False),
    ),
    "scatter_added": Operation(
        "%y = " + _SCATTER.format("inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1],"
                                  " index_vector_dim = 1", _ADD, "8x2xi32", "8xf32"),
        (8, 2), "i4", (8,), (6, 5), lambda x, i, u: _scattered(x, i, u, add=True),
    ),
    "ext_gather": Operation(
        """%e = tensor.empty() : tensor<8x5xf32>
  %y = iree_linalg_ext.gather dimension_map = [0] ins(%x, %i : tensor<6x5xf32>, tensor<8xi32>)
      outs(%e : tensor<8x5xf32>) -> tensor<8x5xf32>""",
        (8,), "i4", (), (8, 5), lambda x, i: x[_row(i)],
    ),
    "ext_scatter": Operation(
        """%y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
      ins(%u, %i : tensor<8x5xf32>, tensor<8x1xi32>) outs(%x : tensor<6x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<6x5xf32>""",
        (8, 1), "i4", (8, 5), (6, 5), _nearest,
    ),
    "tosa_gather": Operation(
        _TOSA + """%c = tosa.gather %a, %b : (tensor<1x6x5xf32>, tensor<1x4xi32>) -> tensor<1x4x5xf32>
  %y = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x4x5xf32> into tensor<4x5xf32>""",
        (4,), "i4", (), (4, 5), lambda x, i: x[_row(i)],
    ),
    "tosa_scatter": Operation(
        _TOSA + """%v = tensor.expand_shape %u [[0, 1], [2]] output_shape [1, 4, 5]
      : tensor<4x5xf32> into tensor<1x4x5xf32>
  %c = tosa.scatter %a, %b, %v
      : (tensor<1x6x5xf32>, tensor<1x4xi32>, tensor<1x4x5xf32>) -> tensor<1x6x5xf32>
  %y = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x6x5xf32> into tensor<6x5xf32>""",
        (4,), "i4", (4, 5), (6, 5), _nearest,
    ),
    "extract_slice": Operation(
        _AT + "%y = tensor.extract_slice %x[%p, %q] [2, 3] [1, 1] : tensor<6x5xf32> to tensor<2x3xf32>",
        (2,), "i8", (), (2, 3), _sliced,
    ),
    "insert_slice": Operation(
        _AT + "%y = tensor.insert_slice %u into %x[%p, %q] [2, 3] [1, 1]"
        " : tensor<2x3xf32> into tensor<6x5xf32>",
        (2,), "i8", (2, 3), (6, 5), _updated,
    ),
}  # fmt: skip


Call = Callable[[Case], Case]


def host(folder: Path) -> dict[str, Call]:
    """Compiles all operations; returns how to call each."""
    # IREE takes no module that has TOSA beside StableHLO.
    tosa = [name for name, operation in OPERATIONS.items() if "tosa." in operation.text]
    others = [name for name in OPERATIONS if name not in tosa]
    calls = _compiled(others, folder) | _compiled(tosa, folder)
    return {name: calls[name] for name in OPERATIONS}


def _compiled(names: list[str], folder: Path) -> dict[str, Call]:
    functions, signatures = [], []
    for name in names:
        operation = OPERATIONS[name]
        index, dtype = operation.index, f"i{int(operation.dtype[1]) * 8}"
        inputs = [("x", _X.shape, "f32"), ("i", index, dtype), ("u", operation.update, "f32")]
        inputs = inputs[: 3 if operation.update else 2]
        listed = ", ".join(f"%{n}: tensor<{'x'.join(map(str, (*s, t)))}>" for n, s, t in inputs)
        result = f"tensor<{'x'.join(map(str, (*operation.result, 'f32')))}>"
        functions.append(
            f"func.func @{name}({listed}) -> {result} {{\n  {operation.text}\n  return %y : {result}\n}}\n"
        )
        infos = tuple(TensorInfo(n, DType[t.upper()], s) for n, s, t in inputs)
        outputs = (TensorInfo("y", DType.F32, operation.result),)
        signatures.append(Signature(name, infos, outputs))
    path = folder / "indices.mlir"
    path.write_text("".join(functions), encoding="utf-8")
    vmfb, states = HostModel.build(path, tuple(signatures), folder, *sanitized.FLAGS)
    model = HostModel(sanitized.accepted(vmfb), tuple(signatures), states)
    sanitized.apart()
    return {name: functools.partial(model.run, entry=entry) for entry, name in enumerate(names)}


def indices(operation: Operation, chance: random.Random) -> Array:
    """Returns an index tensor: each number is inside or near, far outside, or an end of its type."""
    limits = np.iinfo(operation.dtype)
    kinds: tuple[Callable[[], int], ...] = (
        lambda: chance.randrange(-2, _ROWS + 2),
        lambda: chance.randrange(_COLUMNS),
        lambda: chance.randrange(-1000, 1000),
        lambda: chance.randrange(int(limits.min), int(limits.max) + 1),
        lambda: chance.choice((int(limits.min), int(limits.max), -1, 0)),
    )
    size = int(np.prod(operation.index))
    values = [chance.choice(kinds)() for _ in range(size)]
    return np.array(values, operation.dtype).reshape(operation.index)


def results(budget: campaign.Budget, program: str = __file__) -> Iterator[campaign.Result]:
    """Runs the trials in another process, of a program, and goes on in a new one behind a trial that ends it."""
    environment = {**sanitized.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    trial, end = budget.first, budget.first + budget.count
    while trial < end:
        given = ("--seed", budget.seed, "--first", trial, "--count", end - trial, "--inside")
        command = [sys.executable, program, *map(str, given)]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as child,
        ):
            assert child.stdout
            for line in child.stdout:
                yield campaign.Result(**json.loads(line))
                trial += 1
            if child.wait():
                errors.seek(0)
                yield campaign.Result(trial, "stopped", errors.read())
                trial += 1


def inside(calls: dict[str, Call], budget: campaign.Budget) -> Iterator[campaign.Result]:
    """Runs the trials in this process."""
    for trial in budget.trials():
        chance = budget.random(trial)
        find = ""
        for name, operation in OPERATIONS.items():
            case = [_X, indices(operation, chance)]
            if operation.update:
                size = int(np.prod(operation.update))
                case.append(np.arange(100, 100 + size, dtype=np.float32).reshape(operation.update))
            (got,) = calls[name](tuple(case))
            if not np.array_equal(got, operation.answer(*case)):
                find += f"{name} at {case[1].tolist()}: {got.tolist()}\n"
        yield campaign.Result(trial, "wrong" if find else "right", find or None)


@cli.program("indices", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    campaign.add_arguments(parser, count=FULL_LENGTH)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    if options.inside:
        with tempfile.TemporaryDirectory() as folder:
            calls = host(Path(folder))
        for result in inside(calls, campaign.budget(options)):
            print(json.dumps(asdict(result)), flush=True)
        return 0
    return campaign.run(
        "indices",
        results(campaign.budget(options)),
        count=options.count,
        finds=options.finds,
        console=Console(),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
