"""Dispatch functions as text, as they are when IREE has chosen tile sizes: products and what follows them."""

from __future__ import annotations

import re
import unittest

import numpy as np
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.problem.product import Product
from bmc.kernels.read.product import read
from bmc.kernels.unsupported import Unsupported

TYPES = {"x": "4x32xf32", "w": "32x64xf32", "y": "4x64xf32", "t": "64x32xf32", "bias": "64xf32"}
TYPES |= {
    "x2": "4x64xf32",
    "y2": "4x64xf32",
    "z": "64x64xf32",
    "table": "256xi8",
    "short": "255xi8",
}
TYPES |= {"qx": "4x32xi8", "qw": "32x64xi8", "qy": "4x64xi8", "qbias": "64xi32"}
ROWS = "affine_map<(d0, d1) -> (d0, d1)>"
TURNED = "affine_map<(d0, d1) -> (d1, d0)>"
LANES = "affine_map<(d0, d1) -> (d1)>"
PARALLEL = 'iterator_types = ["parallel", "parallel"]'
MATMUL = """linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x64xf32>)
    outs(%zero : tensor<4x64xf32>) -> tensor<4x64xf32>"""
SUMS = """
  %empty = tensor.empty() : tensor<4x64xf32>
  %c0 = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x64xf32>) -> tensor<4x64xf32>
  %sums = {product}
"""
QUANTIZED = """
  %empty = tensor.empty() : tensor<4x64xi32>
  %bytes = tensor.empty() : tensor<4x64xi8>
  %c0 = arith.constant 0 : i32
  %zero = linalg.fill ins(%c0 : i32) outs(%empty : tensor<4x64xi32>) -> tensor<4x64xi32>
  %sums = linalg.matmul {{cast = #linalg.type_fn<{cast}>}} ins(%qx, %qw : tensor<4x32xi8>, tensor<32x64xi8>)
    outs(%zero : tensor<4x64xi32>) -> tensor<4x64xi32>
"""
STORE = "iree_codegen.store_to_buffer %{value}, %to_{to} : tensor<{type}> into memref<{type}>\n"


def stored(value: str, to: str = "y") -> str:
    return STORE.format(value=value, to=to, type=TYPES[to])


def followed(
    body: str, dtype: str = "f32", out: str = "%empty : tensor<4x64xf32>", other: str = "bias"
) -> str:
    """Computes %result from the sums (%a) and a bias for each lane (%b)."""
    result = out.split("x")[-1].rstrip(">")
    return f"""
  %result = linalg.generic {{indexing_maps = [{ROWS}, {LANES}, {ROWS}], {PARALLEL}}}
      ins(%sums, %{other} : tensor<4x64x{dtype}>, tensor<{TYPES[other]}>) outs({out}) {{
  ^bb0(%a: {dtype}, %b: {dtype}, %old: {result}):
    {body}
    linalg.yield %r : {result}
  }} -> tensor<4x64x{result}>
"""


FLOAT = SUMS.format(product=MATMUL)
SIGNED = QUANTIZED.format(cast="cast_signed")
BYTES = "%bytes : tensor<4x64xi8>"
NARROW = "%r = arith.trunci %h : i32 to i8"
SOME = np.array([*range(-700, 700), 2**31 - 1, -(2**31), 70_001], np.int32)
HIGH = """%wide = arith.extsi %a : i32 to i64
    %other = arith.extsi %b : i32 to i64
    %product = arith.muli %wide, %other : i64
    %c32 = arith.constant {shift} : i64
    %high = arith.shrui %product, %c32 : i64
    %i = arith.trunci %high : i64 to i32
    %r = arith.trunci %i : i32 to i8"""


class ReadCase(unittest.TestCase):
    def read(self, text: str) -> Product:
        """Reads a function that loads what TYPES names, as it is when IREE has chosen tile sizes."""
        arguments = [f"%to_{name}: memref<{type_}>" for name, type_ in TYPES.items()]
        loads = [
            f"  %{name} = iree_codegen.load_from_buffer %to_{name} : memref<{type_}> -> tensor<{type_}>\n"
            for name, type_ in TYPES.items()
            if re.search(rf"%{name}\b", text)
        ]
        text = f"func.func @f({', '.join(arguments)}) {{\n{''.join(loads)}{text}  return\n}}\n"
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            (function,) = ir_util.all_of(module, "func.func")
            return read(function).product

    def declines(self, reason: str, text: str) -> None:
        with self.assertRaisesRegex(Unsupported, reason):
            self.read(text)
