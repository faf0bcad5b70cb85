"""Products, their operands, and their results as numpy computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from riscv_numbers import estimated_reciprocal

from bmc.kernels.dtypes import FLOATS, WIDTHS
from bmc.kernels.problem.product import RESULT, A, Edge, Loop, Node, Padding, Product
from bmc.kernels.problem.roles import arranged

FLOAT_SUM = Node("sum", "f32")
SUM = Node("sum", "i32")
HALF_SUM = Node("sum", "f16")
# By the type of what is multiplied.
SUMS = {"f16": HALF_SUM, "bf16": FLOAT_SUM, "f32": FLOAT_SUM, "i8": SUM}
DTYPES: dict[str, Any] = dict(
    f32=np.float32, f16=np.float16, bf16=ml_dtypes.bfloat16, i32=np.int32, i16=np.int16, i8=np.int8
)
Array = np.ndarray[Any, Any]
# Bytes in a table that is looked up.
TABLE = 256


def _strides(*elements: int, dtypes: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(n * WIDTHS[dtype] for n, dtype in zip(elements, dtypes, strict=True))


def matmul(
    rows: int,
    lanes: int,
    sums: int,
    dtype: str = "f32",
    epilogue: tuple[Node, ...] = (),
    extra: tuple[str, ...] = (),
) -> Product:
    """The operands in `extra` are i32 or f32 per lane, "residual TYPE" for one of the result's shape, or "table i8"."""
    epilogue = epilogue or (SUMS[dtype],)
    dtypes = (dtype, dtype, epilogue[-1].dtype, *(each.split()[-1] for each in extra))
    moves = [lanes * each.startswith("residual") for each in extra]
    steps = [int(not each.startswith("table")) for each in extra]
    return Product(
        dtypes,
        (),
        (Loop(rows, _strides(sums, 0, lanes, *moves, dtypes=dtypes)),),
        Loop(lanes, _strides(0, 1, 1, *steps, dtypes=dtypes)),
        (Loop(sums, _strides(1, lanes, 0, *[0] * len(extra), dtypes=dtypes)),),
        None,
        epilogue,
    )


def convolution(
    size: int,
    lanes: int,
    channels: int,
    dtype: str = "f32",
    stride: int = 1,
    dilation: int = 1,
    depthwise: bool = False,
) -> Product:
    """A window of 3x3 over an image [h, w, c], with a weight [3, 3, c, lanes], or [3, 3, lanes]."""
    node = SUMS[dtype]
    dtypes = (dtype, dtype, node.dtype)
    depth = lanes if depthwise else channels
    width = (size - 1) * stride + 2 * dilation + 1

    def loop(extent: int, *elements: int) -> Loop:
        return Loop(extent, _strides(*elements, dtypes=dtypes))

    inner = 1 if depthwise else channels
    sums = [
        loop(3, dilation * width * depth, 3 * inner * lanes, 0),
        loop(3, dilation * depth, inner * lanes, 0),
    ]
    if not depthwise:
        sums.append(loop(channels, 1, lanes, 0))
    return Product(
        dtypes,
        (),
        (
            loop(size, stride * width * depth, 0, size * lanes),
            loop(size, stride * depth, 0, lanes),
        ),
        loop(lanes, int(depthwise), 1, 1),
        tuple(sums),
        None,
        (node,),
    )


def planes(size: int, rows: int, channels: int, dtype: str = "f32", gap: int = 1) -> Product:
    """A window of 3x3 whose lanes are pixels, `gap` numbers apart, and whose rows are output channels.

    Each channel has a first value of its sums and two scalars.
    """
    sum_ = SUMS[dtype].dtype
    dtypes = (dtype, dtype, sum_, sum_, sum_, "i8" if sum_ == "i32" else sum_)
    line = (size + 2) * gap
    ops = ("addf", "mulf") if dtype in FLOATS else ("addi", "muli")
    nodes = (
        Node("sum", sum_),
        Node("scalar", sum_, operand=4),
        Node(ops[0], sum_, (0, 1)),
        Node("scalar", dtypes[5], operand=5),
        Node(ops[1], sum_, (2, 3)),
    )

    def loop(extent: int, *elements: int) -> Loop:
        return Loop(extent, _strides(*elements, dtypes=dtypes))

    return Product(
        dtypes,
        (loop(2, 0, line, size, 0, 0, 0),),
        (loop(rows, 9 * channels, 0, 2 * size, 1, 1, 1),),
        loop(size, 0, gap, 1, 0, 0, 0),
        (
            loop(channels, 9, 4 * line, 0, 0, 0, 0),
            loop(3, 3, line, 0, 0, 0, 0),
            loop(3, 1, gap, 0, 0, 0, 0),
        ),
        3,
        nodes,
    )


def padded(
    size: tuple[int, int],
    lanes: int,
    channels: int,
    dtype: str = "f32",
    low: tuple[int, int] = (1, 1),
    high: tuple[int, int] = (1, 1),
    window: tuple[int, int] = (3, 3),
    stride: int = 1,
    dilation: int = 1,
    depthwise: bool = False,
    value: float = 0,
) -> Product:
    """A convolution of an image [h, w, c] that is read as if it had more lines and columns, with a value in them."""
    node = SUMS[dtype]
    dtypes = (dtype, dtype, node.dtype)
    depth = lanes if depthwise else channels
    inner = 1 if depthwise else channels
    height, width = size
    y, x = (
        (all_ + before + behind - (taps - 1) * dilation - 1) // stride + 1
        for all_, before, behind, taps in zip(size, low, high, window, strict=True)
    )

    def loop(extent: int, steps: tuple[int, int], *elements: int) -> Loop:
        return Loop(extent, _strides(*elements, dtypes=dtypes), steps)

    sums = [
        loop(window[0], (dilation, 0), dilation * width * depth, window[1] * inner * lanes, 0),
        loop(window[1], (0, dilation), dilation * depth, inner * lanes, 0),
    ]
    if not depthwise:
        sums.append(loop(channels, (0, 0), 1, lanes, 0))
    offset = -(low[0] * width + low[1]) * depth * WIDTHS[dtype]
    return Product(
        dtypes,
        (),
        (
            loop(y, (stride, 0), stride * width * depth, 0, x * lanes),
            loop(x, (0, stride), stride * depth, 0, lanes),
        ),
        loop(lanes, (0, 0), int(depthwise), 1, 1),
        tuple(sums),
        None,
        (node,),
        Padding(A, value, (Edge(low[0], height), Edge(low[1], width)), offset),
    )


def padded_planes(
    size: tuple[int, int],
    rows: int,
    channels: int,
    dtype: str = "f32",
    low: tuple[int, int] = (1, 1),
    high: tuple[int, int] = (1, 1),
    window: tuple[int, int] = (3, 3),
    stride: int = 1,
    dilation: int = 1,
    value: float = 0,
    pixels: bool = False,
    depthwise: bool = False,
    images: int = 1,
) -> Product:
    """A convolution that makes planes, of padded planes or pixels; weights are its first operand.

    Several images lie behind each other, and their results have channels last.
    """
    node = SUMS[dtype]
    dtypes = (dtype, dtype, node.dtype)
    height, width = size
    y, x = (
        (all_ + before + behind - (taps - 1) * dilation - 1) // stride + 1
        for all_, before, behind, taps in zip(size, low, high, window, strict=True)
    )
    line, pixel, plane = (width * channels, channels, 1) if pixels else (width, 1, height * width)

    def loop(extent: int, steps: tuple[int, int], *elements: int) -> Loop:
        return Loop(extent, _strides(*elements, dtypes=dtypes), steps)

    loops = [
        *([loop(images, (0, 0), height * width * channels, 0, y * x * rows)] if images > 1 else []),
        loop(rows, (0, 0), height * width if depthwise else 0, 1, y * x if images == 1 else 1),
        loop(y, (stride, 0), stride * line, 0, x if images == 1 else x * rows),
        loop(x, (0, stride), stride * pixel, 0, 1 if images == 1 else rows),
        loop(window[0], (dilation, 0), dilation * line, window[1] * channels * rows, 0),
        loop(window[1], (0, dilation), dilation * pixel, channels * rows, 0),
        loop(channels, (0, 0), plane, rows, 0),
    ]
    offset = -(low[0] * line + low[1] * pixel) * WIDTHS[dtype]
    padding = Padding(A, value, (Edge(low[0], height), Edge(low[1], width)), offset)
    sums = set(range(len(loops) - 3, len(loops)))
    product, swapped = arranged(dtypes, loops, sums, None, (node,), padding)
    assert swapped
    return product


def _loops(product: Product) -> list[Loop]:
    lanes = product.grid or (product.lanes,)
    return [*product.outer, *product.rows, *lanes, *product.summed]


def operands(product: Product, seed: int = 0) -> list[Array]:
    """Returns operands that are exactly as large as what the loops visit; the result is zero.

    Floats are small integers, so every order of additions gives the same sum.
    """
    generator = np.random.default_rng(seed)
    tables = {node.operand for node in product.epilogue if node.op == "lookup"}
    made = []
    for number, dtype in enumerate(product.dtypes):
        reach = sum((loop.extent - 1) * loop.strides[number] for loop in _loops(product))
        if product.padding and number == product.padding.operand:
            reach = _last(product)
        size = TABLE if number in tables else reach // WIDTHS[dtype] + 1
        # Weights in 16 bits are int8 as well.
        limit = {"i8": 128, "i16": 128, "i32": 2**22, "f32": 9, "f16": 3, "bf16": 9}[dtype]
        values = generator.integers(-limit, limit, size)
        made.append((values * (number != RESULT)).astype(DTYPES[dtype]))
    return made


def _places(product: Product) -> tuple[Array, Array]:
    """Returns for all iterations where a padded image is read, in bytes, and whether that is in the image."""
    padding = product.padding
    assert padding is not None
    loops = _loops(product)
    numbers = np.meshgrid(*(np.arange(each.extent) for each in loops), indexing="ij", sparse=True)

    def total(factors: list[int]) -> Array:
        return np.asarray(sum(n * factor for n, factor in zip(numbers, factors, strict=True)))

    inside = np.full([each.extent for each in loops], True)
    for place, edge in enumerate(padding.edges):
        index = total([each.steps[place] for each in loops]) - edge.low
        inside &= (index >= 0) & (index < edge.extent)
    return total([each.strides[padding.operand] for each in loops]) + padding.offset, inside


def _last(product: Product) -> int:
    places, inside = _places(product)
    return int(np.where(inside, places, 0).max())


def _factor(product: Product, data: list[Array], number: int) -> Array:
    """An operand of the multiplication, with an axis for each loop."""
    padding = product.padding
    if padding is None or padding.operand != number:
        return _view(product, data, number, sums=True)
    places, inside = _places(product)
    read = data[number][np.where(inside, places // WIDTHS[product.dtypes[number]], 0)]
    return np.where(inside, read, padding.value)


def _view(product: Product, data: list[Array], number: int, sums: bool = False) -> Array:
    """An operand, with an axis for each loop."""
    loops = _loops(product)
    loops = loops if sums else loops[: len(loops) - len(product.summed)]
    return np.lib.stride_tricks.as_strided(
        data[number], [each.extent for each in loops], [each.strides[number] for each in loops]
    )


def _constant(node: Node) -> Any:
    value: Any = node.value if node.dtype in FLOATS else int(node.value)
    return DTYPES[node.dtype](value)


def evaluated(
    nodes: tuple[Node, ...],
    sums: Array,
    load: Callable[[int], Array],
    table: Callable[[int], Array] | None = None,
) -> dict[int, Array]:
    """Computes an epilogue's results by operand; `load` returns an operand, `table` all of one."""
    values: list[Any] = []
    results: dict[int, Array] = {}
    for node in nodes:
        if node.op == "store":
            results[node.operand] = values[node.args[0]]
            values.append(None)
        elif node.op == "lookup" and table:
            values.append(table(node.operand)[values[node.args[0]]].astype(np.int32))
        elif node.op == "sum":
            values.append(sums)
        elif node.op in ("load", "scalar"):
            values.append(load(node.operand))
        elif node.op == "constant":
            values.append(_constant(node))
        else:
            values.append(OPERATIONS[node.op](node, *(values[arg] for arg in node.args)))
    return results | {RESULT: values[-1]}


def expected(product: Product, data: list[Array]) -> Array:
    """Computes the result in numpy."""
    return results(product, data)[RESULT]


def results(product: Product, data: list[Array]) -> dict[int, Array]:
    """Computes all results in numpy, by operand."""
    wide, narrow = (
        (np.float64, DTYPES[product.epilogue[0].dtype])
        if product.scheme.is_float
        else (np.int64, np.int32)
    )
    factors = [_factor(product, data, number).astype(wide) for number in (0, 1)]
    axes = tuple(range(-len(product.summed), 0)) if product.summed else ()
    sums = (factors[0] * factors[1]).sum(axis=axes)
    if product.initial is not None:
        sums = sums + _view(product, data, product.initial)
    values = evaluated(
        product.epilogue,
        sums.astype(narrow),
        lambda operand: _view(product, data, operand),
        data.__getitem__,
    )
    written = [array.copy() for array in data]
    with np.errstate(all="ignore"):
        for number, value in values.items():
            _view(product, written, number)[...] = value.astype(DTYPES[product.dtypes[number]])
    return {number: written[number] for number in values}


def _rounded(a: Array, shift: Any) -> Array:
    """Rounds to nearest as floats do it, which are exact here, and up in the middle."""
    result: Array = np.floor(np.asarray(a, np.float64) / np.float64(2) ** shift + 0.5)
    return result.astype(np.int64)


# By name: (node, arguments...) -> result.
OPERATIONS: dict[str, Any] = {
    "addi": lambda _, a, b: a + b,
    "subi": lambda _, a, b: a - b,
    "muli": lambda _, a, b: a * b,
    "mulhi": lambda _, a, b: (np.int64(a) * np.int64(b) >> 32).astype(np.int32),
    "fixed_multiply": lambda _, a, b: (np.int64(a) * np.int64(b) + 2**30 >> 31).astype(np.int32),
    "rounding_shift": lambda _, a, b: _rounded(a, b).astype(np.int32),
    "requantize": lambda _, a, b, c, d, e: np.clip(_rounded(a, b) + c, d, e).astype(np.int8),
    "carried": lambda _, a, b, c: a + (b.view(np.uint32) < c.view(np.uint32)),
    "shli": lambda _, a, b: a << b,
    "shrsi": lambda _, a, b: a >> b,
    "shrui": lambda _, a, b: (a.view(np.uint32) >> np.uint32(b)).view(np.int32),
    "maxsi": lambda _, a, b: np.maximum(a, b),
    "minsi": lambda _, a, b: np.minimum(a, b),
    "andi": lambda _, a, b: a & b,
    "ori": lambda _, a, b: a | b,
    "xori": lambda _, a, b: a ^ b,
    "addf": lambda _, a, b: a + b,
    "subf": lambda _, a, b: a - b,
    "mulf": lambda _, a, b: a * b,
    "divf": lambda _, a, b: a / b,
    "negf": lambda _, a: -a,
    "fma": lambda _, a, b, c: (np.float64(a) * np.float64(b) + np.float64(c)).astype(np.float32),
    "recf7": lambda _, a: estimated_reciprocal(a),
    "maximumf": lambda _, a, b: np.maximum(a, b),
    "minimumf": lambda _, a, b: np.minimum(a, b),
    "maxnumf": lambda _, a, b: np.fmax(a, b),
    "minnumf": lambda _, a, b: np.fmin(a, b),
    "if_positive": lambda _, a, b, c: np.where(a > 0, b, c),
    "if_negative": lambda _, a, b, c: np.where(a < 0, b, c),
    "bitcast": lambda node, a: a.view(DTYPES[node.dtype]),
    "extf": lambda node, a: a.astype(DTYPES[node.dtype]),
    "truncf": lambda node, a: a.astype(DTYPES[node.dtype]),
    "extsi": lambda node, a: a.astype(DTYPES[node.dtype]),
    "trunci": lambda node, a: a.astype(DTYPES[node.dtype]),
    "sitofp": lambda _, a: a.astype(np.float32),
    "fptosi": lambda _, a: a.astype(np.int32),
}
