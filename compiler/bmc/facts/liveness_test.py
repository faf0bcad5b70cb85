"""Tests the liveness bound on handwritten flow IR, where the answer is easy to count."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.facts import liveness
from bmc.rewrites.model_context import States

_INPUT = 1024
_OUTPUT = 1024


def _bound(body: str) -> int:
    """Returns the bound of a `main` from tensor<256xf32> (1 KiB) to the tensor %out of the same type."""
    text = (
        "util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {\n"
        '  %in = hal.tensor.import %arg0 "in" : !hal.buffer_view -> tensor<256xf32>\n'
        f"{body}\n"
        '  %view = hal.tensor.export %out "out" : tensor<256xf32> -> !hal.buffer_view\n'
        "  util.return %view : !hal.buffer_view\n"
        "}\n"
    )
    with ir.Context():
        module = ir.Module.parse(text)
        return liveness.bound(module, States())


class LivenessTest(unittest.TestCase):
    def test_input_and_output_are_apart_where_they_meet(self) -> None:
        self.assertEqual(_bound("%out = flow.tensor.clone %in : tensor<256xf32>"), _INPUT + _OUTPUT)

    def test_an_input_counts_from_the_start_and_an_output_to_the_end(self) -> None:
        late = (
            "%a = flow.tensor.splat %f : tensor<512xf32>\n"
            "%b = flow.tensor.clone %a : tensor<512xf32>\n"
            "%out = flow.tensor.clone %in : tensor<256xf32>\n"
        )
        self.assertEqual(_bound("%f = arith.constant 0.0 : f32\n" + late), _INPUT + 2 * 2048)
        early = (
            "%out = flow.tensor.clone %in : tensor<256xf32>\n"
            "%a = flow.tensor.splat %f : tensor<512xf32>\n"
            "%b = flow.tensor.clone %a : tensor<512xf32>"
        )
        self.assertEqual(_bound("%f = arith.constant 0.0 : f32\n" + early), _OUTPUT + 2 * 2048)

    def test_transients_that_do_not_meet_share_memory(self) -> None:
        chain = (
            "%a = flow.tensor.clone %in : tensor<256xf32>\n"
            "%b = flow.tensor.clone %a : tensor<256xf32>\n"
            "%c = flow.tensor.clone %b : tensor<256xf32>\n"
            "%out = flow.tensor.clone %c : tensor<256xf32>"
        )
        # Only an operand and its result are alive together, also if one is the input or the output.
        self.assertEqual(_bound(chain), 2 * 1024)

    def test_a_transient_used_later_stays(self) -> None:
        kept = (
            "%zero = arith.constant 0 : index\n"
            "%a = flow.tensor.clone %in : tensor<256xf32>\n"
            "%b = flow.tensor.clone %in : tensor<256xf32>\n"
            "%c = flow.tensor.clone %b : tensor<256xf32>\n"
            "%d = flow.tensor.update %a, %c[%zero] : tensor<256xf32> -> %c as tensor<256xf32>\n"
            "%out = flow.tensor.clone %d : tensor<256xf32>"
        )
        # %a lives through %b and %c; %d reuses the memory of %c.
        self.assertEqual(_bound(kept), 3 * 1024)

    def test_every_tensor_begins_at_a_multiple_of_64_bytes(self) -> None:
        small = (
            "%a = flow.tensor.slice %in[%zero for %three] : tensor<256xf32> -> tensor<3xf32>\n"
            "%b = flow.tensor.clone %a : tensor<3xf32>\n"
            "%out = flow.dispatch @x::@y(%in, %b) : (tensor<256xf32>, tensor<3xf32>) -> tensor<256xf32>"
        )
        indices = "%zero = arith.constant 0 : index\n%three = arith.constant 3 : index\n"
        self.assertEqual(_bound(indices + small), _INPUT + 64 + _OUTPUT)

    def test_a_reshape_takes_no_memory(self) -> None:
        reshaped = (
            "%a = flow.tensor.clone %in : tensor<256xf32>\n"
            "%b = flow.tensor.reshape %a : tensor<256xf32> -> tensor<16x16xf32>\n"
            "%c = flow.tensor.reshape %b : tensor<16x16xf32> -> tensor<256xf32>\n"
            "%out = flow.tensor.clone %c : tensor<256xf32>"
        )
        self.assertEqual(_bound(reshaped), 2 * 1024)


if __name__ == "__main__":
    unittest.main()
