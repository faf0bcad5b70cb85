"""Functions that call each other are counted before anything writes their calls out."""

from __future__ import annotations

import unittest

import support

from bmc.frontends import call_tree
from bmc.frontends.call_tree import Function
from bmc.limits import Limits


class CallTreeTest(support.FolderTest):
    def test_ops_after_all_calls(self) -> None:
        doubling = {f"f{i}": Function(0, [f"f{i + 1}"] * 2) for i in range(10)}
        functions = {"main": Function(3, ["f0", "elsewhere"]), **doubling, "f10": Function(1, [])}
        # 3 of main's own, a call that stays, and 2^10.
        call_tree.check(functions, "a.onnx", Limits(nodes=1028))
        self.refuses(
            "over-limit",
            "function 'main' in 'a.onnx' becomes 1,028 ops, more than 1,027",
            "--limit nodes=1028",
            call=lambda: call_tree.check(functions, "a.onnx", Limits(nodes=1027)),
        )
        self.refuses(
            "over-limit",
            "function 'f1' in 'a.onnx' becomes 512 ops",
            call=lambda: call_tree.check(functions, "a.onnx", Limits(nodes=511)),
        )

    def test_a_function_that_calls_itself(self) -> None:
        for functions in (
            {"main": Function(1, ["main"])},
            {"main": Function(1, ["a"]), "a": Function(0, ["b"]), "b": Function(0, ["a"])},
        ):
            self.refuses(
                "op-rejected",
                "in 'a.mlir' calls itself",
                call=lambda given=functions: call_tree.check(given, "a.mlir", Limits()),
            )

    def test_a_deep_chain_is_no_recursion_of_ours(self) -> None:
        functions = {f"f{i}": Function(1, [f"f{i + 1}"]) for i in range(5000)}
        call_tree.check(functions, "a.onnx", Limits())


if __name__ == "__main__":
    unittest.main()
