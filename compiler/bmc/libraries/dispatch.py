"""What a matcher is told about a dispatch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bmc.kernels.problem.product import Node

Array = npt.NDArray[Any]

# NumPy's names of the elements that arrays in C may have -> MLIR's.
ARRAYS = {"float32": "f32", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "i8"}


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor that a dispatch reads or writes.

    Attributes:
      dtype: "f32", "i32" or "i8".
      steps: elements from one iteration of each loop to the next.
      values: the numbers, if they are in the code of the kernel; None for a tensor in memory.
      binding: number of the tensor's binding, -1 if it has none.
      offset: bytes from the beginning of the binding.
    """

    dtype: str
    steps: tuple[int, ...]
    values: Array | None = None
    binding: int = -1
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop.

    Attributes:
      extent: how often it runs.
      is_summed: whether the results are sums over it.
    """

    extent: int
    is_summed: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """An axis of an image that is read as if there were more of it on both sides.

    Attributes:
      low: how many indices are before the image; that is where the loops begin.
      extent: how many indices are in the image.
      steps: indices from one iteration of each loop to the next.
    """

    low: int
    extent: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Padding:
    """What is read around an image. It is nowhere in memory.

    Attributes:
      image: the padded operand.
      value: what is read outside of it.
      edges: its padded axes.
    """

    image: Operand
    value: float
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Dispatch:
    """result[...] = epilogue(initial[...] + sum of a[...] * b[...]), over loops of fixed extents.

    An operand is at the sum of each loop's index times the operand's step for that loop.

    Attributes:
      name: what IREE calls it, such as "matmul_4x64x32_f32".
      isa: instruction set, as in compiler/bmc/isas.bzl.
      vlen_bits: smallest VLEN it must run on, 0 without vectors.
      loops: outermost first, in the order of the operation in IREE's IR.
      a, b: the factors. Both are f32, or both are i8.
      result: where the last value of the epilogue is stored.
      initial: what the sums begin with; None for zeros.
      operands: all of them, by the numbers that nodes of the epilogue have; a, b and result are the first three.
      epilogue: what is computed from each sum, which is the first node; () if the sum is stored as it is.
      windows: the loops over results along which a window slides, each with the loop over its taps.
      padding: what is read around an image, None if everything is in memory.
      cost: about how many instructions it takes without a library; infinite if tuning.json wants a library to take it.
    """

    name: str
    isa: str
    vlen_bits: int
    loops: tuple[Loop, ...]
    operands: tuple[Operand, ...]
    initial: Operand | None
    epilogue: tuple[Node, ...]
    windows: tuple[tuple[int, int], ...] = ()
    padding: Padding | None = None
    cost: float = math.inf

    @property
    def a(self) -> Operand:
        return self.operands[0]

    @property
    def b(self) -> Operand:
        return self.operands[1]

    @property
    def result(self) -> Operand:
        return self.operands[2]

    @property
    def sums_steps(self) -> tuple[int, ...]:
        """Elements from one iteration of each loop to the next in Sums(), where neighbors have no gaps."""
        steps, step = [], 1
        for loop in reversed(self.loops):
            steps.append(0 if loop.is_summed else step)
            step *= 1 if loop.is_summed else loop.extent
        return tuple(reversed(steps))

    @property
    def sums_dtype(self) -> str:
        """The type of the sums, "f32" or "i32"."""
        return "f32" if self.a.dtype == "f32" else "i32"

    @property
    def holds_sums(self) -> bool:
        """Whether the result can be Sums(): as dense, of that type, and in memory that nothing else is in."""
        result = self.result
        is_dense = all(
            have == want or loop.extent == 1
            for have, want, loop in zip(result.steps, self.sums_steps, self.loops, strict=True)
        )
        others = [each for each in self.operands if each is not result]
        return (
            is_dense
            and result.dtype == self.sums_dtype
            and all(other.binding != result.binding for other in others)
        )


def array_of(operand: Operand, loops: tuple[Loop, ...], data: bytes) -> Array:
    """Returns the elements of an operand with one axis for each loop that moves it, in the order of the loops.

    Args:
      operand: what is read.
      loops: those of its dispatch.
      data: the operand's memory, from its first element on.
    """
    elements = np.frombuffer(data, np.dtype(_NUMPY[operand.dtype]))
    moving = [
        (loop.extent, step) for loop, step in zip(loops, operand.steps, strict=True) if step != 0
    ]
    return np.lib.stride_tricks.as_strided(
        elements,
        [extent for extent, _ in moving],
        [step * elements.itemsize for _, step in moving],
        writeable=False,
    )


_NUMPY = {"f32": "<f4", "i32": "<i4", "i8": "<i1"}
