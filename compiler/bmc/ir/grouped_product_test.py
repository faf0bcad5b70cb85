"""Tests that products with packed weights are recognized, and nothing else."""

from __future__ import annotations

import unittest
from itertools import product as combinations

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from bmc.ir import build, grouped_product, ir_util
from bmc.ir.grouped_product import MIDDLE, Form

_ROWS, _GROUPS, _CHANNELS, _SIZE = 2, 3, 8, 32
_FORMS = [
    Form(bits, zero, mins, factors)
    for bits, zero in ((4, 0), (4, MIDDLE), (8, 0))
    for mins, factors in combinations((False, True), repeat=2)
]


def _tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _module(form: Form) -> ir.Module:
    """Returns a function that makes such a product."""
    inner = _SIZE // form.codes
    kinds = [
        _tensor((_ROWS, _GROUPS, form.codes, inner), "i8" if form.has_factors else "f32"),
        _tensor((_GROUPS, inner, _CHANNELS), "i8"),
        *[_tensor((_GROUPS, _CHANNELS), "i16")] * (1 + form.has_mins),
        *[_tensor((_ROWS, _GROUPS), "f32")] * form.has_factors,
    ]
    arguments = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(kinds))
    result = _tensor((_ROWS, _CHANNELS), "f32")
    text = f"func.func @main({arguments}) -> {result} {{\n  %r = tensor.empty() : {result}\n  return %r : {result}\n}}"
    module = ir.Module.parse(text)
    (end,) = ir_util.all_of(module, "func.return")
    x, codes, *others = end.parent.regions[0].blocks[0].arguments
    with ir.InsertionPoint(end), ir.Location.unknown():
        factors = others.pop() if form.has_factors else None
        made = grouped_product.make(x, codes, others, factors, form)
    end.operands[0] = made
    return module


class GroupedProductTest(unittest.TestCase):
    def test_forms_are_told_apart_also_after_canonicalization(self) -> None:
        for form in _FORMS:
            with self.subTest(form), ir.Context(), ir.Location.unknown():
                module = _module(form)
                PassManager.parse("builtin.module(canonicalize, cse)").run(module.operation)
                self.assertTrue(module.operation.verify())
                (op,) = ir_util.all_of(module, "linalg.generic")
                self.assertEqual(grouped_product.read(op), form)

    def test_other_operations_are_none(self) -> None:
        with ir.Context(), ir.Location.unknown():
            module = _module(_FORMS[0])
            (op,) = ir_util.all_of(module, "linalg.generic")
            block = op.regions[0].blocks[0]
            (end,) = (each.operation for each in block.operations if "yield" in each.operation.name)
            with ir.InsertionPoint(end), ir.Location.unknown():
                end.operands[0] = build.same("arith.negf", end.operands[0])
            self.assertIsNone(grouped_product.read(op))
            (fill,) = ir_util.all_of(module, "linalg.fill")
            self.assertIsNone(grouped_product.read(fill))


if __name__ == "__main__":
    unittest.main()
