"""Constants: where each one lies in weights.bin, how often, and in which layout."""

from __future__ import annotations

import hashlib
import unittest

import numpy as np
import numpy.typing as npt
import support
from iree import runtime

from bmc.artifacts import Parameter
from bmc.host.program import (
    Constant,
    Copy,
    Fill,
    HostFunction,
    HostProgram,
    Span,
    State,
    Storage,
    StorageKind,
)
from bmc.plan import weights
from bmc.plan.weights import PackedWeights, Weight

Floats = npt.NDArray[np.float32]


def literal(array: Floats) -> str:
    """The bytes of an array as an MLIR dense literal."""
    shape = "x".join(map(str, array.shape))
    return f'dense<"0x{array.tobytes().hex()}"> : tensor<{shape}xf32>'


def values(packed: PackedWeights, weight: Weight) -> Floats:
    """What lies in the packed bytes, in the shape the table says."""
    data = packed.data[weight.offset : weight.offset + weight.length]
    return np.frombuffer(data, np.float32).reshape(weight.shape)


def random(*shape: int) -> Floats:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


_PRODUCT = """  %{out} = stablehlo.dot_general %{x}, %{w}, contracting_dims = [1] x [{axis}]
    : (tensor<4x32xf32>, tensor<{shape}xf32>) -> tensor<4x64xf32>
"""


def products(*operands: str) -> str:
    """The sum of x @ w for each operand: "w" for w [32, 64], "w^T" for w [64, 32]."""
    text = ""
    for index, operand in enumerate(operands):
        transposed = operand.endswith("^T")
        text += _PRODUCT.format(
            out=f"p{index}",
            x="x",
            w=operand.removesuffix("^T"),
            axis=1 if transposed else 0,
            shape="64x32" if transposed else "32x64",
        )
    total = "p0"
    for index in range(1, len(operands)):
        text += f"  %s{index} = stablehlo.add %{total}, %p{index} : tensor<4x64xf32>\n"
        total = f"s{index}"
    return f"{text}  return %{total} : tensor<4x64xf32>\n}}\n"


_HEAD = "func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {\n"


class WeightsTest(support.FolderTest):
    def pack(self, text: str) -> PackedWeights:
        packed = support.lower_text(text, self.folder).lowered.weights
        for weight in packed.table.values():
            self.assertEqual(weight.offset % 64, 0)
        return packed

    def test_plain_weight_is_kept(self) -> None:
        w = random(32, 64)
        packed = self.pack(f"{_HEAD}  %w = stablehlo.constant {literal(w)}\n{products('w')}")
        (weight,) = packed.table.values()
        self.assertEqual((weight.shape, weight.permuted), ((32, 64), ()))
        self.assertEqual(packed.data, w.tobytes())

    def test_transposed_weight_is_stored_once_the_other_way(self) -> None:
        w = random(64, 32)
        packed = self.pack(f"{_HEAD}  %w = stablehlo.constant {literal(w)}\n{products('w^T')}")
        (weight,) = packed.table.values()
        self.assertEqual((weight.shape, weight.permuted), ((32, 64), (1, 0)))
        self.assertEqual(packed.data, np.ascontiguousarray(w.T).tobytes())
        self.assertNotEqual(packed.data, w.tobytes())

    def test_weight_with_two_transposed_readers_is_one(self) -> None:
        w = random(64, 32)
        text = (
            "func.func @main(%x: tensor<4x32xf32>, %y: tensor<8x32xf32>)"
            " -> (tensor<4x64xf32>, tensor<8x64xf32>) {\n"
            f"  %w = stablehlo.constant {literal(w)}\n"
            "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]\n"
            "    : (tensor<4x32xf32>, tensor<64x32xf32>) -> tensor<4x64xf32>\n"
            "  %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1]\n"
            "    : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>\n"
            "  return %0, %1 : tensor<4x64xf32>, tensor<8x64xf32>\n}\n"
        )
        packed = self.pack(text)
        self.assertEqual(len(packed.data), w.nbytes)
        np.testing.assert_array_equal(values(packed, packed.table[0]), w.T)

    def test_weight_of_a_1x1_convolution_is_stored_the_other_way(self) -> None:
        value = random(64, 32)
        # Pixels by channels as TFLite has it, channels by pixels as PyTorch.
        for result, shape in (("y, x, n", "4x5x64"), ("n, y, x", "64x4x5")):
            maps = ", ".join(
                f"affine_map<(y, x, n, k) -> ({loops})>" for loops in ("y, x, k", "n, k", result)
            )
            packed = self.pack(f"""func.func @main(%x: tensor<4x5x32xf32>) -> tensor<{shape}xf32> {{
  %w = arith.constant {literal(value)}
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{shape}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{shape}xf32>) -> tensor<{shape}xf32>
  %0 = linalg.generic {{indexing_maps = [{maps}],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%x, %w : tensor<4x5x32xf32>, tensor<64x32xf32>) outs(%init : tensor<{shape}xf32>) {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<{shape}xf32>
  %1 = stablehlo.abs %0 : tensor<{shape}xf32>
  return %1 : tensor<{shape}xf32>
}}
""")
            (weight,) = packed.table.values()
            self.assertEqual((weight.shape, weight.permuted), ((32, 64), (1, 0)))
            np.testing.assert_array_equal(values(packed, weight), value.T)

    def test_weights_of_a_convolution_with_channels_first_are_stored_channels_last(self) -> None:
        value = random(16, 8, 3, 2)
        maps = ", ".join(
            f"affine_map<(n, y, x, c, i, j) -> ({loops})>"
            for loops in ("c, y + i, x + j", "n, c, i, j", "n, y, x")
        )
        packed = self.pack(f"""func.func @main(%x: tensor<8x6x6xf32>) -> tensor<16x4x5xf32> {{
  %w = arith.constant {literal(value)}
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x4x5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x4x5xf32>) -> tensor<16x4x5xf32>
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel",
    "parallel", "reduction", "reduction", "reduction"]}}
    ins(%x, %w : tensor<8x6x6xf32>, tensor<16x8x3x2xf32>) outs(%init : tensor<16x4x5xf32>) {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<16x4x5xf32>
  return %0 : tensor<16x4x5xf32>
}}
""")
        (weight,) = packed.table.values()
        self.assertEqual((weight.shape, weight.permuted), ((3, 2, 8, 16), (2, 3, 1, 0)))
        np.testing.assert_array_equal(values(packed, weight), value.transpose(2, 3, 1, 0))

    def test_tied_embedding_is_gathered_from_the_transposed_table(self) -> None:
        table = random(64, 32)
        text = (
            "func.func @main(%i: tensor<4xi32>) -> tensor<4x64xf32> {\n"
            f"  %w = stablehlo.constant {literal(table)}\n"
            '  %x = "stablehlo.gather"(%w, %i) {dimension_numbers = #stablehlo.gather<\n'
            "    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],\n"
            "    index_vector_dim = 1>, slice_sizes = array<i64: 1, 32>}\n"
            "    : (tensor<64x32xf32>, tensor<4xi32>) -> tensor<4x32xf32>\n" + products("w^T")
        )
        packed = self.pack(text)
        # Embedding and output projection: one copy, laid out for the projection.
        self.assertEqual(len(packed.data), table.nbytes)
        np.testing.assert_array_equal(values(packed, packed.table[0]), table.T)

    def test_weight_read_both_ways_is_left_alone(self) -> None:
        w = random(32, 32)
        text = (
            "func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {\n"
            f"  %w = stablehlo.constant {literal(w)}\n"
            "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
            "    : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>\n"
            "  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [1]\n"
            "    : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>\n"
            "  return %1 : tensor<4x32xf32>\n}\n"
        )
        packed = self.pack(text)
        self.assertEqual(packed.data, w.tobytes())
        self.assertEqual(packed.table[0].permuted, ())

    def test_equal_constants_are_stored_once(self) -> None:
        w = random(32, 64)
        other = w.copy()
        other[0, 0] += 1
        head = f"{_HEAD}  %a = stablehlo.constant {literal(w)}\n"
        # The transposed one has the same bytes only after its layout has changed.
        same = literal(np.ascontiguousarray(w.T))
        packed = self.pack(f"{head}  %b = stablehlo.constant {same}\n{products('a', 'b^T')}")
        self.assertEqual(packed.data, w.tobytes())
        self.assertEqual(packed.distinct_bytes, w.nbytes)
        different = literal(other)
        packed = self.pack(f"{head}  %b = stablehlo.constant {different}\n{products('a', 'b')}")
        self.assertEqual(len(packed.data), 2 * w.nbytes)

    def test_odd_sizes_are_aligned(self) -> None:
        a, b = random(67), random(65)
        text = (
            "func.func @main(%x: tensor<67xf32>, %y: tensor<65xf32>)"
            " -> (tensor<67xf32>, tensor<65xf32>) {\n"
            f"  %a = stablehlo.constant {literal(a)}\n"
            f"  %b = stablehlo.constant {literal(b)}\n"
            "  %0 = stablehlo.add %x, %a : tensor<67xf32>\n"
            "  %1 = stablehlo.add %y, %b : tensor<65xf32>\n"
            "  return %0, %1 : tensor<67xf32>, tensor<65xf32>\n}\n"
        )
        packed = self.pack(text)
        found = sorted(values(packed, weight).tobytes() for weight in packed.table.values())
        self.assertEqual(found, sorted((a.tobytes(), b.tobytes())))
        self.assertEqual(packed.distinct_bytes, a.nbytes + b.nbytes)
        self.assertGreater(len(packed.data), packed.distinct_bytes)

    def test_splat_is_expanded(self) -> None:
        packed = self.pack(
            f"{_HEAD}  %w = stablehlo.constant dense<1.5> : tensor<32x64xf32>\n{products('w')}"
        )
        np.testing.assert_array_equal(
            values(packed, packed.table[0]), np.full((32, 64), 1.5, np.float32)
        )

    def test_small_resource_keeps_its_bytes(self) -> None:
        b = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
        text = (
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %b = stablehlo.constant dense_resource<bias> : tensor<4xf32>\n"
            "  %0 = stablehlo.add %x, %b : tensor<4xf32>\n"
            "  return %0 : tensor<4xf32>\n}\n"
            "{-#\n  dialect_resources: { builtin: {\n"
            f'    bias: "0x04000000{b.tobytes().hex()}"\n'
            "  } }\n#-}\n"
        )
        packed = self.pack(text)
        self.assertEqual(packed.data, b.tobytes())


class InitialTest(support.FolderTest):
    def test_only_what_no_entry_point_reads_is_an_initial_value(self) -> None:
        constants = (Constant("a", 64, data=bytes(64)), Constant("b", 64, data=bytes(range(64))))
        a, b = (Span(Storage(StorageKind.CONSTANT, number, 64), 0, 64) for number in (0, 1))
        state = Span(Storage(StorageKind.STATE, 0, 64), 0, 64)
        reset = (Copy(a, state), Copy(b, state))
        main = HostFunction("main", (), (), (), (Copy(b, state),))
        program = HostProgram(b"", constants, (State("s", 64),), reset, (main,))
        contents = weights.read(program, self.folder / "none.irpa", {})
        zeros, rising = (hashlib.sha256(constant.data).hexdigest() for constant in constants)
        named = tuple(
            Parameter(name, (16,), "f32", digest)
            for name, digest in (("bias", zeros), ("scale", rising), ("other bias", zeros))
        )
        packed = weights.pack(program, contents, {}, named)
        found = {weight.name: weight.initial for weight in packed.table.values()}
        self.assertEqual(found, {"a": True, "b": False})
        names = {weight.name: weight.framework_name for weight in packed.table.values()}
        self.assertEqual(names, {"a": "bias or an equal one", "b": "scale"})


class WrittenTest(support.FolderTest):
    """A constant that the compiled model makes while it initializes."""

    def test_fills_and_copies(self) -> None:
        stored, made = (Storage(StorageKind.CONSTANT, number, 64) for number in (0, 1))
        writes = (
            Fill(Span(made, 0, 32), 0x0102, 2),
            Copy(Span(stored, 8, 32), Span(made, 32, 32)),
        )
        constants = (
            Constant("stored", 64, data=bytes(range(64))),
            Constant("made", 64, writes=writes),
        )
        out = Storage(StorageKind.SLAB, 0, 64)
        use = Copy(Span(made, 0, 64), Span(out, 0, 64))
        program = HostProgram(b"", constants, (), (), (HostFunction("main", (), (), (), (use,)),))
        contents = weights.read(program, self.folder / "none.irpa", {})
        packed = weights.pack(program, contents, {}, ())
        self.assertEqual(packed.data, b"\2\1" * 16 + bytes(range(8, 40)))


class HalvesTest(support.FolderTest):
    def test_weights_that_16_bits_hold(self) -> None:
        index = runtime.ParameterIndex()
        for name, numbers in (
            ("exact", [1.5, -65504.0]),
            ("rounded", [1.5, 0.1]),
            ("too large", [1.5, 70000.0]),
        ):
            index.add_buffer(name, np.array(numbers, np.float32))
        index.add_buffer("no floats", np.zeros(3, np.int8))
        archive = self.folder / "weights.irpa"
        index.create_archive_file(str(archive))
        self.assertEqual(weights.exact_halves(archive), {"exact"})


if __name__ == "__main__":
    unittest.main()
