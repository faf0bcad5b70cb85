"""Tests that a tolerance refuses wrong answers."""

from __future__ import annotations

import functools
import unittest

import numpy as np
import support

from bmc import answers, artifacts, golden, tolerances
from bmc.artifacts import Golden, Signature
from bmc.dtype import Array
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.spec import Exact, IntStep, Policy, Tolerance


class MeaningTest(support.FolderTest):
    """A tolerance that zeros would satisfy tests nothing."""

    def made(self, policy: Policy, *outputs: Array) -> tuple[Golden, tuple[Signature, ...]]:
        infos = golden.infos(outputs[:1], ("logits",), "output")
        cases = tuple((output,) for output in outputs)
        data = golden.make(
            inputs=cases,
            outputs=cases,
            input_infos=infos,
            output_infos=infos,
            tolerance=policy,
            labels=None,
            source=artifacts.GOLDEN_FRAMEWORK,
        )
        return data, artifacts.main_signature(infos, infos)

    def require(self, policy: Policy, *outputs: Array) -> None:
        tolerances.require_meaning(*self.made(policy, *outputs))

    def test_a_case_far_below_the_others_is_named(self) -> None:
        one, huge = np.ones(2, np.float32), np.full(2, 1e30, np.float32)
        (note,) = tolerances.cases_not_told_from_zeros(*self.made(Tolerance(1e25, 1e-4), huge, one))
        self.assertIn(
            "logits of case 1: its largest element is 1, and that of all cases 1e+30", note
        )
        for outputs in ((one, one), (huge, huge), (huge, 0 * one)):
            data = self.made(Tolerance(1e-5 * float(outputs[0].max()), 1e-4), *outputs)
            self.assertEqual(tolerances.cases_not_told_from_zeros(*data), ())

    def test_zeros_must_not_pass(self) -> None:
        tiny = np.array([6.8e-10, -1e-10], np.float32)
        one = np.array([1.0, 0.0], np.float32)
        large, zeros = Tolerance(1e-4, 1e-4), np.zeros(2, np.float32)
        for policy, outputs, parts in (
            (large, (tiny,), ("logits: its largest element is 6.8e-10", "atol=0.0001")),
            (Tolerance(2.0, 0.0), (one,), ("as output logits", "atol=2.0")),
            (Tolerance(0.0, 1.0), (one,), ("rtol=1.0",)),
            (large, (zeros, zeros), ("logits is zero in every case",)),
            (IntStep(5, 2), (np.array([5, -5], np.int8),), ("max_step=5",)),
            (Exact(), (np.zeros(2, np.int8),), ("logits is zero in every case",)),
        ):
            call = functools.partial(self.require, policy, *outputs)
            self.refuses("weak-tolerance", *parts, call=call)
        call = functools.partial(self.require, large, one * np.nan, np.full(2, np.inf, np.float32))
        self.refuses("weak-tolerance", "infinite or NaN", call=call)
        call = functools.partial(self.require, large, one * np.nan)
        self.refuses("weak-tolerance", "infinite or NaN", call=call)
        self.require(large, one * np.nan, one)
        self.require(large, one[:0])  # There is nothing to test.
        # One meaningful case is enough, and one meaningful element in it.
        self.require(large, zeros, tiny, one)
        self.require(Tolerance(1e-10, 0.0), tiny)
        self.require(Tolerance(2.0, 0.0, 0.99), one)  # zeros have no direction
        self.require(IntStep(5, 1), np.array([5, -5], np.int8))
        self.require(Exact(), np.array([0, 1], np.int8))

    def test_every_entry_point_counts(self) -> None:
        one, zero = np.ones(2, np.float32), np.zeros(2, np.float32)
        info = golden.infos((one,), ("y",), "output")
        signatures = tuple(artifacts.Signature(name, info, info) for name in ("first", "second"))
        calls = tuple(artifacts.GoldenCall(entry, False) for entry in (0, 1, 1))
        for outputs, good in (((one, zero, one), True), ((one, zero, zero), False)):
            cases = tuple((output,) for output in outputs)
            data = golden.make_calls(
                calls=calls,
                inputs=cases,
                outputs=cases,
                signatures=signatures,
                tolerance=Tolerance(1e-4, 0.0),
            )
            call = functools.partial(tolerances.require_meaning, data, signatures)
            if good:
                call()
            else:
                self.refuses("weak-tolerance", "y is zero in every case", call=call)

    def test_f16_is_given_room_but_never_less_than_the_model_gives(self) -> None:
        given = (np.array([-50.0, 3.0], np.float32), np.array([7], np.int32))
        infos = golden.infos(given, ("logits", "index"), "output")
        for own, expected in (
            (Tolerance(1e-5, 1e-5), Tolerance(0.5, 1e-2)),
            (Tolerance(2.0, 1e-5, 0.99), Tolerance(2.0, 1e-2, 0.99)),
        ):
            data = golden.make(
                inputs=(given,),
                outputs=(given,),
                input_infos=infos,
                output_infos=infos,
                tolerance=(own, Exact()),
                labels=None,
                source=artifacts.GOLDEN_FRAMEWORK,
            )
            found = tolerances.of_f16(data, artifacts.main_signature(infos, infos))
            self.assertEqual(found, (expected, Exact()))

    def test_default_follows_the_outputs(self) -> None:
        outputs = (
            np.array([0.5, np.inf, -6.8e-10], np.float32),
            np.array([-6.8e-10, 1e-11], np.float32),
            np.array([3], np.int64),
            np.array([100.0], np.float16),
            np.array([1e300, 3.0]),
        )
        policies = tolerances.default(golden.infos(outputs, (), "output"), (outputs, outputs))
        self.assertEqual(
            policies,
            (
                Tolerance(5e-6, 1e-4),
                Tolerance(6.8e-15, 1e-4),
                Exact(),
                Tolerance(1.0, 1e-2),
                # The firmware has it in f32.
                Tolerance(answers.LARGEST_TOLERANCE, 1e-4),
            ),
        )
        self.require(policies[-1], outputs[-1])

    def test_numbers_beyond_f32_are_refused(self) -> None:
        infos = golden.infos((np.array([1e300]),), ("y",), "output")
        for policy in (Tolerance(1e295, 1e-4), Tolerance(0.0, 1e39)):
            self.refuses(
                "bad-spec",
                "of output y: 1xf64 has a number beyond f32, in which the firmware has it",
                call=functools.partial(golden.policies_of, policy, infos),
            )

    def test_an_import_is_refused(self) -> None:
        text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        path = self.write("model.mlir", text)
        cases = (
            "import numpy as np\nfrom bmc.spec import Cases, Tolerance\n"
            "def cases():\n    x = np.full(4, {}, np.float32)\n"
            "    return Cases(((x,),), Tolerance(1e-4, 0.0), ((x,),))\n"
        )
        for value in ("1e-3", "1e-5"):
            options = ImportOptions(cases=f"{self.write('cases.py', cases.format(value))}:cases")
            call = functools.partial(import_model, str(path), options, self.folder / "out")
            if value == "1e-3":
                call()
            else:
                self.refuses("weak-tolerance", "output0", "1e-05", call=call)


if __name__ == "__main__":
    unittest.main()
