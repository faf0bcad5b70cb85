"""The header of a model: its names, whatever they are in the model's file."""

from __future__ import annotations

import re
import unittest

from bmc import target
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.emit import model_h
from bmc.plan.tables import Entry, Plan, Tensor

_TARGET = target.find("rv64gc")


def header(*entries: Entry) -> str:
    plan = Plan(
        name="m",
        isa_bits=target.PlanIsa.RV64,
        vlen_bits=0,
        arena_bytes=640,
        weights_bytes=0,
        exports=(),
        commands=(),
        entries=entries,
    )
    return model_h.source(plan, None, _TARGET)


def entry(name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Entry:
    return Entry(
        name,
        0,
        0,
        tuple(Tensor(TensorInfo(i, DType.F32, (2, 3)), 64 * n) for n, i in enumerate(inputs)),
        tuple(Tensor(TensorInfo(o, DType.I8, (5,)), 320) for o in outputs),
    )


def without_elements() -> Entry:
    tensors = [TensorInfo(name, DType.F32, (2, 0)) for name in "xy"]
    full = TensorInfo("z", DType.F32, (2,))
    return Entry("main", 0, 0, (Tensor(tensors[0], 0),), (Tensor(tensors[1], 0), Tensor(full, 64)))


def functions(text: str) -> list[str]:
    return re.findall(r"(?m)^static inline (?:const )?\w+ \*(\w+)\(", text)


class NamesTest(unittest.TestCase):
    def test_tensors_have_their_own_names(self) -> None:
        text = header(entry("main", ("pixels",), ("scores",)))
        self.assertEqual(functions(text), ["m_input_pixels", "m_output_scores"])
        self.assertIn("return (float *)bm_model_at(model, 0u);", text)
        self.assertIn("return (const int8_t *)bm_model_at(model, 320u);", text)
        self.assertIn("  M_INPUT_PIXELS_ELEMENTS = 6,\n", text)
        self.assertIn("//   input: pixels, f32 [2, 3], 24 bytes\n", text)

    def test_tensors_without_elements_have_a_place_that_nobody_reads(self) -> None:
        text = header(without_elements())
        self.assertEqual(functions(text), ["m_input_x", "m_output_y", "m_output_z"])
        self.assertIn("  M_INPUT_X_ELEMENTS = 0,\n", text)
        example = text[text.index("m_example") :]
        # A loop over them would be a warning, as its condition is always false.
        self.assertNotIn("m_input_x", example)
        self.assertIn("*out0 = m_output_z(", example)

    def test_entry_points_are_told_apart(self) -> None:
        text = header(entry("encode", ("x",), ("y",)), entry("decode", ("x",), ("y",)))
        self.assertEqual(
            functions(text),
            ["m_encode_input_x", "m_encode_output_y", "m_decode_input_x", "m_decode_output_y"],
        )
        self.assertIn('  return bm_model_entry(model, "decode", out_model);\n', text)
        self.assertIn("m_entry_decode(const bm_model_t *model,", text)

    def test_no_two_names_are_the_same(self) -> None:
        long = "n" * 100
        inputs = ("a.b", "a:b", "A_B", "", "名前", long, long + "2")
        found = functions(header(entry("main", inputs, ("a.b",))))
        self.assertEqual(len({name.upper() for name in found}), len(inputs) + 1)
        self.assertEqual(found[:3], ["m_input_a_b", "m_input_a_b_2", "m_input_A_B_3"])

    def test_no_name_leaves_its_comment_or_string(self) -> None:
        hostile = '*/ x ??/\n#error "\\'
        text = header(entry(hostile, (hostile,), (hostile,)), entry("b", (), ("y",)))
        code = [line for line in text.splitlines() if not line.startswith("//")]
        self.assertNotIn("#error", "\n".join(line for line in code if '"' not in line))
        self.assertIn("//   input of _/ x __/__error __: _/ x __/__error __, f32", text)


if __name__ == "__main__":
    unittest.main()
