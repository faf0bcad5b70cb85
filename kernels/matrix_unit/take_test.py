"""Tests which products go to the matrix unit, and that their lists compute them in whatever order the queues allow."""

from __future__ import annotations

import random
import sys
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from take import take
from unit import INT8, INT8_DOWN, MULTIPLY, Shape, Unit

from bmc.kernels.problem.product import Node
from bmc.libraries import Call, Dispatch, Edge, Loop, Operand, Packed, Padding, Sums

_SHAPE_WORDS, _JOB_WORDS = 16, 8
# What is around images.
_FILLER = -5
# The sum, scaled by operand 4, shifted by 7, plus 3, and limited.
_NODES = (
    Node("sum", "i32"),
    Node("load", "i32", operand=4),
    Node("fixed_multiply", "i32", (0, 1)),
    Node("constant", "i32", value=7),
    Node("constant", "i32", value=3),
    Node("constant", "i32", value=-128),
    Node("constant", "i32", value=127),
    Node("requantize", "i8", (2, 3, 4, 5, 6)),
)


@dataclass(frozen=True)
class _Case:
    """A product: its loops, those that are summed, and the steps of image, weight and result."""

    loops: tuple[int, ...]
    summed: tuple[int, ...]
    image: tuple[int, ...]
    weight: tuple[int, ...]
    result: tuple[int, ...]
    # Pixels and channels of an image that has a border of one pixel, which is not in memory.
    bordered: tuple[int, int] = (0, 0)

    def dispatch(self, is_int8: bool = True) -> Dispatch:
        found = self._without_border(is_int8)
        if not self.bordered[0]:
            return found
        pixels, channels = self.bordered
        line = (pixels + 2) * channels
        y, x = (
            tuple(step // pitch if step % pitch == 0 and step < end else 0 for step in self.image)
            for pitch, end in ((line, 1 << 30), (channels, line))
        )
        inner = tuple(int(step == 1) for step in self.image)
        steps = tuple(
            (pixels * in_y + in_x) * channels + rest
            for in_y, in_x, rest in zip(y, x, inner, strict=True)
        )
        image = replace(found.a, steps=steps)
        padding = Padding(image, _FILLER, (Edge(1, pixels, y), Edge(1, pixels, x)))
        return replace(found, operands=(image, *found.operands[1:]), padding=padding)

    def _without_border(self, is_int8: bool) -> Dispatch:
        loops = tuple(Loop(extent, i in self.summed) for i, extent in enumerate(self.loops))
        operands = [
            Operand("i8", steps, binding=i)
            for i, steps in enumerate((self.image, self.weight, self.result))
        ]
        if not is_int8:
            operands[2] = replace(operands[2], dtype="i32")
            return Dispatch("f", "rv64gc", 0, loops, tuple(operands), None, ())
        moving = [i for i, step in enumerate(self.weight) if step and i not in self.summed]
        steps = tuple(int(i in moving) for i in range(len(loops)))
        count = self.loops[moving[0]]
        bias = Operand("i32", steps, np.arange(count, dtype=np.int32) * 9 - 70)
        scale = Operand("i32", steps, np.arange(count, dtype=np.int32) * 5000 + 2**30)
        return Dispatch("f", "rv64gc", 0, loops, (*operands, bias, scale), bias, _NODES)

    def size(self, steps: tuple[int, ...]) -> int:
        return 1 + sum((extent - 1) * step for extent, step in zip(self.loops, steps, strict=True))


def _convolution(size: int, inputs: int, outputs: int, stride: int = 1) -> _Case:
    """A window of 3 x 3 over a padded image; the result has gaps, as inside of another padded image."""
    line = (size * stride + 2) * inputs
    return _Case(
        (size, size, outputs, 3, 3, inputs),
        (3, 4, 5),
        (stride * line, stride * inputs, 0, line, inputs, 1),
        (0, 0, 1, 3 * inputs * outputs, inputs * outputs, outputs),
        ((size + 2) * outputs, outputs, 1, 0, 0, 0),
    )


def _bordered(size: int, inputs: int, outputs: int, stride: int = 1) -> _Case:
    """The same without a padded image."""
    pixels = (size - 1) * stride + 1
    line = (pixels + 2) * inputs
    steps = (stride * line, stride * inputs, 0, line, inputs, 1)
    case = replace(_convolution(size, inputs, outputs, stride), image=steps)
    return replace(case, bordered=(pixels, inputs))


_CASES = {
    "whole": _convolution(8, 8, 20),
    "strided": _convolution(7, 16, 24, stride=2),
    # In tiles of lines.
    "cut": _convolution(24, 64, 32),
    "border": _bordered(8, 8, 20),
    "strided border": _bordered(7, 16, 24, stride=2),
    "cut border": _bordered(24, 64, 32),
    # Neither image nor weights of a whole block fit.
    "matrix": _Case((48, 80, 1024), (2,), (1024, 0, 1), (0, 1, 80), (80, 1, 0)),
    "vector": _Case((10, 64), (1,), (0, 1), (1, 10), (1, 0)),
    "depthwise": _Case(
        (20, 20, 128, 3, 3),
        (3, 4),
        (22 * 128, 128, 1, 22 * 128, 128),
        (0, 0, 1, 384, 128),
        (20 * 128, 128, 1, 0, 0),
    ),
}


def _taken(dispatch: Dispatch) -> Call:
    call = take(dispatch)
    assert call is not None
    return call


def _list(call: Call) -> tuple[Shape, list[list[int]]]:
    words = call.arguments[0]
    assert isinstance(words, np.ndarray)
    jobs = words[_SHAPE_WORDS:].reshape(-1, _JOB_WORDS).tolist()
    assert len(jobs) == call.params["jobs"]
    return Shape(*words[:13].tolist()), jobs


def _strided(array: np.ndarray, case: _Case, steps: tuple[int, ...]) -> np.ndarray:
    strides = [step * array.itemsize for step in steps]
    return np.lib.stride_tricks.as_strided(array, case.loops, strides)


class _Memory:
    """The operands of a case, one after the other, and what the result has to be."""

    def __init__(self, case: _Case, is_int8: bool) -> None:
        self.case, self.call = case, _taken(case.dispatch(is_int8))
        numbers = np.random.default_rng(1)
        image = stored = numbers.integers(-128, 128, case.size(case.image), np.int8)
        if case.bordered[0]:
            pixels, channels = case.bordered
            whole = image.reshape(pixels + 2, pixels + 2, channels)
            stored = whole[1:-1, 1:-1].reshape(-1).copy()
            whole[[0, -1]] = whole[:, [0, -1]] = _FILLER
        weight = numbers.integers(-128, 128, case.size(case.weight), np.int8)
        packed, *arrays = self.call.arguments[2:-1]
        assert isinstance(packed, Packed)
        moving = [extent for extent, step in zip(case.loops, case.weight, strict=True) if step]
        steps = [step for step in case.weight if step]
        axes = np.lib.stride_tricks.as_strided(weight, moving, steps)
        parts = [stored, packed.pack(axes).reshape(-1), *(array.view(np.int8) for array in arrays)]
        parts += [np.zeros(0, np.int8)] * (5 - len(parts))
        self.bases = [sum(part.size for part in parts[:i]) for i in range(6)]
        results = tuple(extent for i, extent in enumerate(case.loops) if i not in case.summed)
        a, b = (
            _strided(x, case, s).astype(np.int64)
            for x, s in ((image, case.image), (weight, case.weight))
        )
        sums = np.zeros(results, np.int64)
        np.sum(a * b, case.summed, out=sums)
        self.wanted = self._result(sums, is_int8)
        self.start = np.concatenate([*parts, np.zeros(self.wanted.size, np.int8)])

    def _result(self, sums: np.ndarray, is_int8: bool) -> np.ndarray:
        if not is_int8:
            return sums.astype("<i4").reshape(-1).view(np.int8)
        case = self.case
        axis = [i for i in range(len(case.loops)) if i not in case.summed]
        output = axis.index(next(i for i in axis if case.weight[i]))
        shape = [-1 if i == output else 1 for i in range(sums.ndim)]
        index = np.arange(sums.shape[output]).reshape(shape)
        value = ((sums + index * 9 - 70) * (index * 5000 + 2**30) + 2**30) >> 31
        value = np.clip((value + 64 >> 7) + 3, -128, 127)
        found = np.zeros(case.size(case.result), np.int8)
        steps = [case.result[i] for i in axis]
        np.lib.stride_tricks.as_strided(found, sums.shape, steps)[...] = value
        return found

    def runs(self, jobs: list[list[int]], seed: int) -> bool:
        """Whether the result is right after the jobs ran in an order that the queues allow."""
        shape, _ = _list(self.call)
        unit = Unit(self.start.copy(), self.bases)
        queues = [[job for job in jobs if (job[0] == MULTIPLY) == bool(queue)] for queue in (0, 1)]
        done = [0, 0]
        choose = random.Random(seed)
        # One queue is ahead, mostly.
        favorite = choose.randrange(2)
        while any(queues):
            may = [q for q in (0, 1) if queues[q] and queues[q][0][1] <= done[1 - q]]
            queue = favorite if favorite in may and choose.random() < 0.9 else choose.choice(may)
            unit.job(shape, queues[queue].pop(0))
            done[queue] += 1
        return bool(np.array_equal(unit.memory[self.bases[5] :], self.wanted))


def _unordered(jobs: Sequence[list[int]]) -> list[list[int]]:
    return [[kind, 0, *words] for kind, _, *words in jobs]


class TakeTest(unittest.TestCase):
    def test_lists_compute_products_in_every_order_of_the_queues(self) -> None:
        for name, case in _CASES.items():
            for is_int8 in (True, False):
                memory = _Memory(case, is_int8)
                _, jobs = _list(memory.call)
                with self.subTest(name, is_int8=is_int8):
                    for seed in range(2):
                        self.assertTrue(memory.runs(jobs, seed))

    def test_an_order_that_the_list_does_not_say_is_noticed(self) -> None:
        memory = _Memory(_CASES["cut"], is_int8=True)
        _, jobs = _list(memory.call)
        found = [memory.runs(_unordered(jobs), seed) for seed in range(4)]
        self.assertIn(False, found)

    def test_what_does_not_fit_is_cut_and_loaded_beside_products(self) -> None:
        _, whole = _list(_taken(_CASES["vector"].dispatch()))
        self.assertEqual([job[0] for job in whole].count(MULTIPLY), 1)
        shape, jobs = _list(_taken(_CASES["cut"].dispatch()))
        self.assertGreater([job[0] for job in jobs].count(MULTIPLY), 2)
        memory = _Memory(_CASES["cut"], is_int8=True)
        multiplied, copied, busy = Unit(memory.start, memory.bases).run(shape, jobs)
        # The shorter queue is hidden behind the longer one, nearly.
        self.assertLess(busy, max(multiplied, copied) + min(multiplied, copied) // 2)

    def test_a_requantization_is_part_of_the_call(self) -> None:
        call = _taken(_CASES["whole"].dispatch())
        self.assertEqual((call.function, call.wait), ("matrix_unit_i8", "matrix_unit_wait"))
        self.assertTrue(call.finishes)
        shape, _ = _list(call)
        self.assertEqual((shape.mode, shape.zero, shape.low, shape.high), (INT8, 3, -128, 127))
        sign = (
            Node("constant", "i32", value=31),
            Node("shrsi", "i32", (0, 3)),
            Node("addi", "i32", (2, 4)),
            Node("constant", "i32", value=7),
            *_NODES[4:7],
            Node("requantize", "i8", (5, 6, 7, 8, 9)),
        )
        down = replace(_CASES["whole"].dispatch(), epilogue=(*_NODES[:3], *sign))
        self.assertEqual(_list(_taken(down))[0].mode, INT8_DOWN)

    def test_another_epilogue_stays_c(self) -> None:
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        call = _taken(replace(_CASES["whole"].dispatch(), epilogue=nodes))
        self.assertEqual(call.function, "matrix_unit_sums")
        self.assertIsInstance(call.arguments[-1], Sums)
        self.assertFalse(call.finishes)

    def test_cycles_are_known_before(self) -> None:
        """The cost of a call is about what the unit takes, by its specification, and what the hart does."""
        for name, case in _CASES.items():
            dispatch = case.dispatch()
            shape, jobs = _list(_taken(dispatch))
            memory = _Memory(case, is_int8=True)
            _, _, busy = Unit(memory.start, memory.bases).run(shape, jobs)
            with self.subTest(name):
                self.assertIsNone(take(replace(dispatch, cost=busy * 0.75)))
                self.assertIsNotNone(take(replace(dispatch, cost=busy * 1.25 + 300)))

    def test_a_product_goes_where_it_is_cheaper(self) -> None:
        vector = _CASES["vector"].dispatch()
        # Submitting a list takes more than so few products.
        tiny = _Case((4, 8), (1,), (0, 1), (1, 4), (1, 0)).dispatch()
        self.assertIsNotNone(take(tiny))
        self.assertIsNone(take(replace(tiny, cost=5 * 32)))
        self.assertIsNotNone(take(replace(vector, cost=5 * 640)))
        # If the hart has to compute what follows, that counts as well.
        whole = replace(_CASES["whole"].dispatch(), cost=10000)
        self.assertIsNotNone(take(whole))
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        self.assertIsNone(take(replace(whole, epilogue=nodes)))

    def test_others_are_left(self) -> None:
        dispatch = _CASES["whole"].dispatch(is_int8=False)
        padded = replace(dispatch, padding=Padding(dispatch.a, 0, ()))
        self.assertIsNone(take(padded))
        floats = tuple(replace(each, dtype="f32") for each in dispatch.operands)
        self.assertIsNone(take(replace(dispatch, operands=floats)))
        # One window does not fit.
        wide = _Case((2, 2, 70000), (2,), (70000, 0, 1), (0, 70000, 1), (2, 1, 0))
        self.assertIsNone(take(wide.dispatch()))
        # Bytes of a run that are no neighbors.
        planes = replace(_CASES["matrix"], image=(1, 0, 196))
        self.assertIsNone(take(planes.dispatch()))


if __name__ == "__main__":
    sys.exit(unittest.main())
