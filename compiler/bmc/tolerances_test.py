"""Follows tolerances from the model file to the firmware's tables."""

from __future__ import annotations

import dataclasses
import functools
import unittest

import numpy as np
import support

from bmc import artifacts, golden, reference, tolerances
from bmc.dtype import Array
from bmc.emit import golden_c
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.spec import Exact, IntStep, Policy, Tolerance

WANT = np.array([-128, 0, 127, 5], np.int8)
NEAR = np.array([-127, 0, 126, 5], np.int8)


class CompareTest(unittest.TestCase):
    def test_step_limits_how_far_and_how_many(self) -> None:
        far = np.array([-128, 2, 127, 5], np.int8)
        for got, policy, ok in (
            (WANT, IntStep(0, 0), True),
            (NEAR, IntStep(1, 2), True),
            (NEAR, IntStep(1, 1), False),
            (NEAR, IntStep(0, 4), False),
            (far, IntStep(1, 4), False),
            (far, IntStep(2, 1), True),
        ):
            self.assertEqual(reference.compare(got, WANT, policy).ok, ok, (got, policy))

    def test_what_differs_is_counted(self) -> None:
        self.assertEqual(reference.compare(NEAR, WANT, IntStep(1, 2)).differing, 2)
        self.assertEqual(reference.compare(NEAR, WANT, Exact()).differing, 2)
        nan = np.array([np.nan, np.nan, 1.0], np.float32)
        other = np.array([np.nan, 0.0, 1.5], np.float32)
        self.assertEqual(reference.compare(nan, other, Tolerance(1.0, 0.0)).differing, 2)


class SpecTest(support.FolderTest):
    def make(self, policy: Policy, output: Array) -> artifacts.Golden:
        case = (np.zeros(1, np.float32),)
        return golden.make(
            inputs=(case,),
            outputs=((output,),),
            input_infos=golden.infos(case, (), "input"),
            output_infos=golden.infos((output,), (), "output"),
            tolerance=policy,
            labels=None,
            source=artifacts.GOLDEN_FRAMEWORK,
        )

    def test_policies_survive_the_import_directory(self) -> None:
        model = support.import_text(support.ADD, self.folder)
        for policy in (IntStep(1, 7), Exact(), Tolerance(1e-3, 1e-4, 0.5)):
            data = dataclasses.replace(model.golden, policies=(policy,))
            artifacts.save(dataclasses.replace(model, golden=data), self.folder)
            self.assertEqual(artifacts.load(self.folder).golden.policies, (policy,))

    def test_step_of_a_float_output_or_of_no_32_bits_is_refused(self) -> None:
        self.make(IntStep(2**32 - 1, 0), WANT)
        for policy, output, part in (
            (IntStep(1, 1), np.zeros(2, np.float32), "IntStep is given for output output0: 2xf32"),
            (IntStep(2**32, 1), WANT, "max_step=4294967296"),
            (IntStep(1, -1), WANT, "max_differing=-1"),
        ):
            self.refuses("bad-spec", part, call=lambda p=policy, o=output: self.make(p, o))

    def test_firmware_gets_both_numbers(self) -> None:
        self.assertEqual(
            golden_c._policy(IntStep(1, 7)),
            "{.policy = 2, .max_step = 1u, .max_differing = 7u}",
        )


class MeaningTest(support.FolderTest):
    """A tolerance that zeros would satisfy tests nothing."""

    def require(self, policy: Policy, *outputs: Array) -> None:
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
        tolerances.require_meaning(data, artifacts.main_signature(infos, infos))

    def test_zeros_must_not_pass(self) -> None:
        tiny = np.array([6.8e-10, -1e-10], np.float32)
        one = np.array([1.0, 0.0], np.float32)
        large, zeros = Tolerance(1e-4, 1e-4), np.zeros(2, np.float32)
        for policy, outputs, parts in (
            (large, (tiny,), ("logits: its largest element is 6.8e-10", "atol=0.0001")),
            (Tolerance(2.0, 0.0, 0.99), (one,), ("as output logits", "atol=2.0")),
            (Tolerance(0.0, 1.0), (one,), ("rtol=1.0",)),
            (large, (zeros, zeros), ("logits is zero in every case",)),
            (IntStep(5, 2), (np.array([5, -5], np.int8),), ("max_step=5",)),
            (Exact(), (np.zeros(2, np.int8),), ("logits is zero in every case",)),
        ):
            call = functools.partial(self.require, policy, *outputs)
            self.refuses("weak-tolerance", *parts, call=call)
        # One meaningful case is enough, and one meaningful element in it.
        self.require(large, zeros, tiny, one)
        self.require(Tolerance(1e-10, 0.0), tiny)
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

    def test_default_follows_the_outputs(self) -> None:
        outputs = (
            np.array([0.5, np.inf, -6.8e-10], np.float32),
            np.array([-6.8e-10, 1e-11], np.float32),
            np.array([3], np.int64),
            np.array([100.0], np.float16),
        )
        policies = tolerances.default(golden.infos(outputs, (), "output"), (outputs, outputs))
        self.assertEqual(
            policies,
            (
                Tolerance(5e-6, 1e-4),
                Tolerance(6.8e-15, 1e-4),
                Exact(),
                Tolerance(1.0, 1e-2),
            ),
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
