"""Tests the checks of a program's JSON on pieces of it. Whole files are tested with torch_archive.py."""

from __future__ import annotations

import unittest
from typing import Any

import support

from bmc.frontends import torch_schema


class TorchSchemaTest(support.FolderTest):
    def clean(self, **parts: Any) -> dict[str, Any]:
        return torch_schema.clean({"graph_module": {}, **parts}, "net.pt2")

    def test_sizes_are_arithmetic(self) -> None:
        for text in (
            "s0",
            "2*s0 + s17",
            "FloorDiv(s0 - 1, 2) + 1",
            "Max(1, Mod(s0, 8))",
            "Eq(s0, 4)",
            "s0 >= 2",
            "Symbol('s0', positive=True, integer=True)",
            "Float('0.5', precision=53)",
            "-int_oo",
        ):
            self.clean(expr_str=text)
        for text in (
            "print(s0)",
            "s0.real",
            "s0[0]",
            "[s0]",
            "f'{s0}'",
            "lambda: s0",
            "(x := s0)",
            "s0 if s1 else 2",
            "Symbol('__import__')",
            "Max(*s0)",
            "s0;",
            # A symbol is no function, and nobody writes an expression of this length.
            "s0(1)",
            "s0 + " * 1000 + "s0",
            "(" * 200,
        ):
            self.refuses(
                "unsafe-file", "the expression", call=lambda t=text: self.clean(expr_str=t)
            )

    def test_names_are_identifiers(self) -> None:
        self.clean(name="linear_1", user_input_name="", forward_arg_names=["x", "y"])
        self.clean(parameter_name="layers.0.weight", buffer_name="a-b/c:d")
        for key, name in (
            ("name", "x = 1"),
            ("name", 3),
            ("user_input_name", "x,"),
            ("forward_arg_names", ["x", "y=f()"]),
            ("parameter_name", "weight)"),
            ("buffer_name", "a..b"),
            ("tensor_constant_name", ""),
        ):
            self.refuses("unsafe-file", "the name", call=lambda k=key, n=name: self.clean(**{k: n}))

    def test_what_bmc_does_not_need_is_dropped(self) -> None:
        program = self.clean(
            guards_code=["import os"],
            node={"metadata": {"stack_trace": "model.py", "nn_module_stack": "x,os.system"}},
            other={"metadata": {"stack_trace": 3}},
            custom_obj=None,
        )
        self.assertEqual(program["guards_code"], [])
        self.assertEqual(program["node"]["metadata"], {"stack_trace": "model.py"})
        self.assertEqual(program["other"]["metadata"], {})
        self.assertEqual(program["graph_module"]["metadata"], {})

    def test_a_check_reaches_every_depth(self) -> None:
        deep: Any = {"custom_obj": {"class_fqn": "os.system"}}
        for _ in range(20):
            deep = {"a": [deep]}
        self.refuses(
            "unsafe-file", "an object of class 'os.system'", call=lambda: self.clean(x=deep)
        )


if __name__ == "__main__":
    unittest.main()
