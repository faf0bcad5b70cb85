"""The firmware and bmc judge answers alike: tolerances, NaN, infinities, -0, cosines and classes."""

from __future__ import annotations

import itertools
import math
import os
import struct
import subprocess
import unittest
from collections.abc import Iterator

import numpy as np

from bmc import answers, spec
from bmc.dtype import Array, DType
from bmc.emit.golden_c import PolicyKind

Vector = tuple[Array, Array, spec.Policy, DType]

# Tolerances that f32 rounds, and that are exceeded by one rounding.
FLOAT = (
    spec.Exact(),
    spec.Tolerance(0.0, 0.0),
    spec.Tolerance(0.1, 0.0),
    spec.Tolerance(0.0, 0.1),
    spec.Tolerance(1e30, 1e30),
    spec.Tolerance(1e30, 0.0, min_cosine=0.9),
    spec.Tolerance(1e30, 0.0, min_cosine=-1.0),
    spec.Tolerance(1e30, 0.0, min_cosine=1.0),
)
INTEGER = (
    spec.Exact(),
    spec.IntStep(0, 0),
    spec.IntStep(1, 1),
    spec.IntStep(1, 9),
    spec.IntStep(300, 2),
)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1.1, 0.9, 1e-40, 65504.0, math.inf, -math.inf, math.nan)


def stored(values: Array, dtype: DType) -> Array:
    return values.astype(dtype.numpy)


def float_vectors() -> Iterator[Vector]:
    rng = np.random.default_rng(0)
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    for dtype in (DType.F16, DType.BF16, DType.F32, DType.F64):
        # f16 and bf16 have the same special values, and others near 1.
        with np.errstate(over="ignore"):
            got, want = (stored(side, dtype) for side in pairs.T)
            noise = rng.normal(size=(2, 4, 5))
            near = noise[0] + rng.normal(size=(4, 5)) * [[0], [1e-3], [0.1], [3]]
            rows = (stored(noise[0], dtype), stored(near, dtype))
        for policy in FLOAT:
            for g, w in zip(got, want, strict=True):
                yield np.array(g), np.array(w), policy, dtype  # a scalar
                yield np.array([g, 1], g.dtype), np.array([w, 1], w.dtype), policy, dtype
            for g, w in zip(*rows, strict=True):
                yield g, w, policy, dtype
            yield *rows, policy, dtype
            for zero in (0, 1):
                sides = [rows[0].copy(), rows[0].copy()]
                sides[zero][2] = 0  # against itself, and against another row
                yield sides[0], sides[0], policy, dtype
                yield sides[0], sides[1], policy, dtype
            yield rows[0][:, :0], rows[1][:, :0], policy, dtype


def integer_vectors() -> Iterator[Vector]:
    rng = np.random.default_rng(1)
    for dtype in (d for d in DType if not d.is_float and d is not DType.BOOL):
        info = np.iinfo(dtype.numpy)
        ends = np.array([info.min, info.min, info.max, info.max, 0, 1], dtype.numpy)
        others = np.array([info.min, info.max, info.max - 1, info.min, 1, 1], dtype.numpy)
        noise = rng.integers(5, 100, 6).astype(dtype.numpy)
        moved = noise + np.array([0, 1, 0, 0, 0, 0], dtype.numpy)
        for policy in INTEGER:
            for got, want in ((ends, others), (ends, ends), (noise, moved), (noise, ends)):
                yield got, want, policy, dtype
    for policy in INTEGER:
        got, want = np.array([[True, False], [True, True]]), np.array([[True, True], [True, True]])
        yield got, want, policy, DType.BOOL
    # f64 does not tell these apart.
    yield np.array([2**53]), np.array([2**53 + 1]), spec.Exact(), DType.I64


def record(vector: Vector) -> bytes:
    got, want, policy, dtype = vector
    kind, numbers = PolicyKind.EXACT, (0.0, 0.0, -2.0, 0, 0)
    if isinstance(policy, spec.IntStep):
        kind, numbers = PolicyKind.INT_STEP, (0.0, 0.0, -2.0, policy.max_step, policy.max_differing)
    elif isinstance(policy, spec.Tolerance):
        cosine = -2.0 if policy.min_cosine is None else policy.min_cosine
        kind, numbers = PolicyKind.FLOAT, (policy.atol, policy.rtol, cosine, 0, 0)
    shape = (*got.shape, 0, 0)[:2]
    head = struct.pack("<I3f2I5I", kind, *numbers, dtype, got.ndim, *shape, got.nbytes)
    return head + got.tobytes() + want.tobytes()


def from_target(vectors: list[Vector]) -> list[tuple[answers.Difference, int]]:
    """What runtime_bm/app/compare.c says."""
    data = b"".join(map(record, vectors))
    done = subprocess.run([os.environ["COMPARE"]], input=data, capture_output=True, check=True)
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    return [
        (
            answers.Difference(
                row[0] == "1", float.fromhex(row[1]), int(row[2]), float.fromhex(row[3])
            ),
            int(row[4]),
        )
        for row in rows
    ]


class CompareTest(unittest.TestCase):
    def check(self, vectors: list[Vector]) -> None:
        found = from_target(vectors)
        verdicts = set()
        for vector, (target, best) in zip(vectors, found, strict=True):
            got, want, policy, dtype = vector
            mine = answers.compare(got, want, policy)
            verdicts.add((type(policy), mine.ok))
            with self.subTest(got=got, want=want, policy=policy, dtype=dtype):
                self.assertEqual(target.ok, mine.ok)
                self.assertEqual(target.differing, mine.differing)
                # The console shows a NaN, where bmc wants an order.
                largest = math.inf if math.isnan(target.max_abs) else target.max_abs
                self.assertEqual(largest, mine.max_abs)
                if isinstance(policy, spec.Tolerance) and (policy.min_cosine or -1) > -1:
                    np.testing.assert_allclose(target.min_cosine, mine.min_cosine, atol=1e-12)
                if got.size:
                    self.assertEqual(best, answers.ranking(answers.numbers(got).ravel())[0])
        # Every policy accepts and refuses.
        self.assertEqual(len(verdicts), 2 * len({type(policy) for _, _, policy, _ in vectors}))

    def test_floats(self) -> None:
        self.check(list(float_vectors()))

    def test_integers(self) -> None:
        self.check(list(integer_vectors()))


if __name__ == "__main__":
    unittest.main()
