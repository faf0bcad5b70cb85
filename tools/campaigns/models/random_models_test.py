"""The campaign of random models: its parts, and one small batch through the compiler and the emulators."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import batch
import graph
import image
import random_models
import reduce
import together
import torch
import workers
from answers import UndecidedError, answers
from campaign import Budget, Result
from generate import generate
from graph import Graph, Input, Node
from image import RIGHT, Verdict
from log import Log
from program import OPS, Program

from bmc import spec
from bmc.errors import BmcError
from bmc.frontends import link
from bmc.iree.tool import IreeTool
from tools.run.kit import Kit

_KIT = Path("tools/campaigns/models/spike.json")
_LINEAR = Graph(
    seed=3,
    int8=False,
    inputs=(Input("x", (4, 6)), Input("s", (4, 5), becomes="sum")),
    nodes=(
        Node("scaled", "linear", ("x",), {"out": 5, "bias": True}),
        Node("sum", "add", ("scaled", "s"), {}),
        Node("unread", "tanh", ("x",), {}),
    ),
    outputs=("sum",),
)

_LOOP = Graph(
    seed=3,
    int8=False,
    inputs=(Input("x", (3, 4), scale=0.3),),
    nodes=(Node("y", "loop", ("x",), {"body": "mix", "steps": 5, "limit": 24.0, "count": False}),),
    outputs=("y",),
)


class GraphTest(unittest.TestCase):
    def test_text_is_the_whole_model(self) -> None:
        (again,) = graph.from_text("# wrong\n" + graph.to_text([_LINEAR]))
        self.assertEqual(again, _LINEAR)
        given = _LINEAR.inputs[0]
        self.assertEqual(again.data(given, 1).tobytes(), _LINEAR.data(given, 1).tobytes())
        self.assertNotEqual(again.data(given, 0).tobytes(), _LINEAR.data(given, 1).tobytes())

    def test_what_no_output_needs_goes(self) -> None:
        needed = _LINEAR.needed()
        self.assertEqual([node.name for node in needed.nodes], ["scaled", "sum"])
        self.assertEqual(needed.inputs, _LINEAR.inputs)

    def test_models_are_the_same_again_and_cover_the_weak_sides(self) -> None:
        made = random_models.made(Budget(1, 0, 300))
        found = [made.model(trial) for trials in made.batches for trial in trials]
        self.assertEqual(found[17], random_models.made(Budget(1, 17, 1)).model(17))
        self.assertTrue(any(model.states for model in found))
        self.assertTrue(any(len(model.outputs) > 1 for model in found))
        nodes = [node for model in found for node in model.nodes]
        attrs = [node.attrs for node in nodes if node.op in ("conv1d", "conv2d")]
        self.assertTrue(any(1 < a["groups"] < a["out"] for a in attrs))
        self.assertTrue(any(max(a["dilation"]) > 1 for a in attrs))
        self.assertTrue(any(node.attrs.get("mode") == "reflect" for node in nodes))
        self.assertTrue(any(node.attrs.get("weight_scale") for node in nodes))
        self.assertLess(len(OPS.keys() - {node.op for node in nodes}), len(OPS) // 10)

    def test_a_dropped_op_leaves_its_weights_to_no_other(self) -> None:
        """In these trials, an op that was dropped and the next of its name have weights of other shapes."""
        for trial in (6321, 6643):
            model = random_models.made(Budget(1, trial, 1)).model(trial)
            program = Program(model)
            program(*program.inputs(0), *program.initial())


class AnswersTest(unittest.TestCase):
    def _answers(self, model: Graph) -> tuple[spec.Policy, ...]:
        program = Program(model)
        calls = (program.inputs(0), program.inputs(1))
        program(*calls[0], *program.initial())
        return answers(program, calls, program.initial(), int8=False).policies

    def _of(self, *nodes: tuple[str, dict[str, object]]) -> Graph:
        names = ["x", *(f"v{i}" for i in range(len(nodes)))]
        return Graph(
            1,
            False,
            (Input("x", (4, 6)),),
            tuple(
                Node(names[i + 1], op, (names[i],), attrs) for i, (op, attrs) in enumerate(nodes)
            ),
            (names[-1],),
        )

    def test_sums_have_a_small_tolerance_and_moves_have_none(self) -> None:
        (policy,) = self._answers(_LINEAR.needed())
        assert isinstance(policy, spec.Tolerance)
        self.assertGreater(policy.atol, 1e-7)
        self.assertLess(policy.atol, 1e-4)
        self.assertEqual(
            self._answers(self._of(("permute", {"order": [1, 0]}), ("relu", {}))),
            (spec.Tolerance(0.0, 0.0),),
        )

    def test_an_int8_near_the_middle_of_two_steps_is_no_test(self) -> None:
        """Random errors leave it where it is; the largest one does not."""

        def module(x: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], tuple[()]]:
            return (torch.round(x * 1.0) * 1.0,), ()

        module.double = lambda: module  # type: ignore[attr-defined]
        for middle, undecided in ((2.5 - 3.5e-6, True), (2.4, False)):
            calls = ((torch.tensor([8.0, middle]),),)
            if not undecided:
                answers(module, calls, (), int8=True)
                continue
            with self.assertRaisesRegex(UndecidedError, "ill-conditioned"):
                answers(module, calls, (), int8=True)

    def test_answers_that_hang_on_roundings_are_no_tests(self) -> None:
        # What is left of a mean that is always 0.
        with self.assertRaisesRegex(UndecidedError, "ill-conditioned"):
            self._answers(
                self._of(("softmax", {"axis": 1}), ("sum", {"axes": [1], "keep": True}),
                         ("log_softmax", {"axis": 0}), ("softmax", {"axis": 0}),
                         ("std", {"axes": [0]}))
            )  # fmt: skip
        with self.assertRaisesRegex(UndecidedError, "zero"):
            self._answers(self._of(("clamp", {"low": 0.0, "high": 0.0})))


class ReduceTest(unittest.TestCase):
    def test_only_what_fails_is_left(self) -> None:
        random = Budget(1, 0, 1).random(0)
        found = generate(random, int8=False)
        while not any(node.op == "conv2d" for node in found.nodes) or len(found.nodes) < 4:
            found = generate(random, int8=False)

        def fails(graphs: tuple[Graph, ...]) -> bool:
            return any(node.op == "conv2d" for model in graphs for node in model.nodes)

        (smallest,) = reduce.reduce((_LINEAR, found), fails, checks=500)
        self.assertEqual([node.op for node in smallest.nodes], ["conv2d"])
        (given,) = smallest.inputs
        self.assertEqual(given.shape[0], 1)
        with torch.no_grad():
            Program(smallest)(*Program(smallest).inputs(0))

    def test_it_gives_up(self) -> None:
        self.assertEqual(reduce.reduce((_LINEAR,), lambda _: False, checks=5), (_LINEAR,))


def _answer(task: str) -> str:
    if task == "dies":
        os._exit(7)
    while task == "hangs":
        time.sleep(1)
    return task.upper()


class WorkersTest(unittest.TestCase):
    def test_a_dead_process_is_an_answer(self) -> None:
        done = workers.run(["one", "dies", "two"], _answer, jobs=2, deadline_seconds=1e6)
        found = {item.task: (item.answer, item.died) for item in done}
        self.assertEqual(found["one"], ("ONE", ""))
        self.assertEqual(found["two"], ("TWO", ""))
        self.assertEqual(found["dies"], (None, "its process ended with status 7"))

    def test_an_endless_task_is_ended(self) -> None:
        (done,) = workers.run(["hangs"], _answer, jobs=1, deadline_seconds=0.0)
        self.assertEqual((done.answer, done.died), (None, "it ran past its deadline"))


class LogTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "log"

    def test_a_cut_run_goes_on_with_what_is_left(self) -> None:
        log = Log(self.path, seed=1)
        self.assertEqual(log.read(), [])
        first = [Result(0, "right"), Result(1, "refused: a b"), Result(2, "wrong", "# text\n[]")]
        log.add(first)
        log.add([Result(24, "right")])
        Log(self.path, seed=2).add([Result(3, "right")])
        whole = self.path.read_bytes()
        # Cut while a line was written.
        self.path.write_bytes(whole + whole[:30])
        found = log.read()
        self.assertEqual(found, [*first, Result(24, "right")])
        self.assertEqual(self.path.read_bytes(), whole)
        left = random_models.made(Budget(1, 0, 42)).without(found)
        self.assertEqual(left.batches, [[*range(3, 24), *range(25, 40)], [40, 41]])

    def test_another_file_is_refused(self) -> None:
        for text in ("models: 20 of 100\n", "{}\n", "[1]\n"):
            self.path.write_text(text)
            with (
                mock.patch("bmc.arithmetic.enter"),
                mock.patch("sys.stderr") as stderr,
                self.assertRaises(SystemExit),
            ):
                random_models.main(["--log", str(self.path), "--summary"])
            said = "".join(call.args[0] for call in stderr.write.call_args_list)
            self.assertIn("is no log of this campaign", said)

    def test_finds_and_refusals_survive(self) -> None:
        Log(self.path, seed=1).add([Result(0, "refused: a"), Result(7, "wrong", "text")])
        finds = self.path.parent / "finds"
        words = ["--log", str(self.path), "--summary", "--finds", str(finds)]
        with mock.patch("bmc.arithmetic.enter"), mock.patch("rich.console.Console.print") as said:
            self.assertEqual(random_models.main(words), 1)
        self.assertEqual((finds / "models_7.txt").read_text(), "text")
        self.assertIn(mock.call("       1 refused: a", highlight=False), said.call_args_list)


_UNKNOWN = """func.func @g7__pure(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @unknown(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


class ImageTest(unittest.TestCase):
    def _judged(self, refused: Callable[[list[int]], Exception | None]) -> dict[int, str]:
        """Judges eight models; notes those of each attempt in self.attempts."""
        self.attempts: list[list[int]] = []

        def step(chosen: list[int]) -> list[Verdict]:
            self.attempts.append(chosen)
            if error := refused(chosen):
                raise error
            return [Verdict(RIGHT)] * len(chosen)

        found = together.judge([*range(8)], step, image.VERDICTS)
        return {number: verdict.outcome for number, verdict in found.items()}

    def test_a_model_that_an_error_names_is_left_out(self) -> None:
        def refused(chosen: list[int]) -> Exception | None:
            return BmcError("op-rejected", "no", where="g5") if 5 in chosen else None

        found = self._judged(refused)
        self.assertEqual(found.pop(5), "refused: op-rejected: no")
        self.assertEqual(set(found.values()), {RIGHT})
        rest = [0, 1, 2, 3, 4, 6, 7]
        self.assertEqual(self.attempts, [[*range(8)], [5], rest])

    def test_halves_find_a_model_without_a_name(self) -> None:
        found = self._judged(lambda chosen: ValueError() if {1, 6} & {*chosen} else None)
        self.assertEqual(found.pop(1), "ValueError in compile")
        self.assertEqual(found.pop(6), "ValueError in compile")
        self.assertEqual(set(found.values()), {RIGHT})

    def test_failing_only_together_is_a_fault(self) -> None:
        for error in (ValueError(), BmcError("op-rejected", "no", where="g0")):
            found = self._judged(lambda chosen, e=error: e if {0, 7} <= {*chosen} else None)
            self.assertEqual(found[0], "wrong only beside others")

    def test_errors_name_the_model(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            function = link.Function("g7", Path(folder) / "g7.mlir")
            function.mlir.write_text(_UNKNOWN)
            image.mark(function)
            with self.assertRaises(BmcError) as caught:
                IreeTool(Path(folder), Path(folder, "reproducer")).compile(
                    "g7.mlir", "g7.mlirbc", "--compile-to=global-optimization"
                )
        self.assertEqual(caught.exception.where, "g7")


class BatchTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kit = Kit.load(_KIT, Path(folder.name))

    def test_models_of_both_kinds_are_right(self) -> None:
        made = random_models.made(Budget(1, 0, 200))
        floats = [made.model(trial) for trial in range(20)]
        int8 = [made.model(trial) for trial in range(120, 126)]
        self.assertEqual({model.int8 for model in int8}, {True})
        found = batch.check((_LINEAR.needed(), _LOOP, *floats), self.kit, plain=False)
        found += batch.check(tuple(int8), self.kit)
        self.assertEqual([verdict for verdict in found if verdict.fault], [])
        outcomes = [verdict.outcome for verdict in found]
        self.assertEqual(outcomes[:2], [RIGHT, RIGHT])
        self.assertGreater(outcomes.count(RIGHT), 23, outcomes)

    def test_a_wrong_answer_is_a_fault(self) -> None:
        def other(*args: object, **options: object) -> object:
            right = answers(*args, **options)  # type: ignore[arg-type]
            outputs = tuple(tuple(out + 1 for out in call) for call in right.outputs)
            return dataclasses.replace(right, outputs=outputs)

        with mock.patch("batch.answers", other):
            (found,) = batch.check((_LINEAR,), self.kit, plain=False)
            self.assertEqual(
                found.outcome, "refused: IREE's host runtime disagrees with PyTorch", found
            )
            with mock.patch("bmc.verify.run", return_value=()):
                (found,) = batch.check((_LINEAR,), self.kit, plain=False)
        # In whichever environment it ran first.
        self.assertRegex(found.outcome, r"^wrong on (qemu|spike)_vlen\d+, tuned$")
        self.assertTrue(found.fault)


if __name__ == "__main__":
    unittest.main()
