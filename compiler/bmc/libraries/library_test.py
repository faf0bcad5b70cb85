"""Tests that a wrong matcher is an error that says what to do."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import support

from bmc.errors import BmcError
from bmc.kernels.problem.product import Node
from bmc.libraries import (
    Call,
    Dispatch,
    Edge,
    Loop,
    Operand,
    Packed,
    Padding,
    Scratch,
    Sums,
    library,
)
from bmc.libraries.library import Library

_DISPATCH = Dispatch(
    "matmul_4x8_f32",
    "rv64gc",
    0,
    (Loop(4, False), Loop(8, True)),
    (Operand("f32", (8, 1)), Operand("f32", (0, 1)), Operand("f32", (1, 0))),
    None,
    (),
)
_RELU = replace(
    _DISPATCH,
    epilogue=(Node("sum", "f32"), Node("constant", "f32"), Node("maxnumf", "f32", (0, 1))),
)


class LibraryTest(support.FolderTest):
    def load(self, text: str) -> Library:
        return library.load("//k:vendor", "vendor.h", self.write("take.py", text))

    def answers(self, answer: Any, dispatch: Dispatch = _DISPATCH) -> Call | None:
        """Returns what a library with this answer makes of a dispatch."""
        found = self.load("def take(dispatch): return None")
        return replace(found, take=lambda _: answer).call(dispatch)

    def refused(self, *parts: str, answer: Any, dispatch: Dispatch = _DISPATCH) -> BmcError:
        return self.refuses(
            "bad-kernel-library",
            "//k:vendor",
            "'matmul_4x8_f32'",
            *parts,
            call=lambda: self.answers(answer, dispatch),
        )

    def test_a_matcher_takes_or_leaves(self) -> None:
        text = """
            from bmc.libraries import Call
            def take(dispatch):
                return Call("f", (dispatch.a,)) if dispatch.vlen_bits == 0 else None
        """
        loaded = self.load(text.replace("\n            ", "\n"))
        found = loaded.call(_DISPATCH)
        assert found is not None
        self.assertIs(found.arguments[0], _DISPATCH.a)
        self.assertIsNone(loaded.call(replace(_DISPATCH, vlen_bits=256)))

    def test_a_matcher_may_have_dataclasses(self) -> None:
        lines = (
            "from __future__ import annotations",
            "from dataclasses import dataclass",
            "@dataclass(frozen=True)",
            "class Axis:",
            "    extent: int = 1",
            "def take(dispatch): return None if Axis().extent == 1 else 0",
        )
        self.assertIsNone(self.load("\n".join(lines)).call(_DISPATCH))

    def test_files_without_a_matcher_are_refused(self) -> None:
        for text, part in (
            ("", "no function 'take'"),
            ("take = 3", "no function 'take'"),
            ("import nothing_like_this", "ModuleNotFoundError"),
            ("def", "SyntaxError"),
        ):
            with self.subTest(text=text):
                self.refuses("bad-kernel-library", part, call=lambda text=text: self.load(text))
        missing = self.folder / "none.py"
        self.refuses("file-missing", call=lambda: library.load("//k", "k.h", missing))

    def test_an_exception_is_the_matchers(self) -> None:
        found = self.load("def take(dispatch): return dispatch.no_such_thing")
        self.refuses(
            "bad-kernel-library", "AttributeError", "take.py", call=lambda: found.call(_DISPATCH)
        )

    def test_answers_that_are_no_calls_are_refused(self) -> None:
        a = _DISPATCH.a
        self.refused("returned str", answer="f")
        self.refused("'1f'", answer=Call("1f", (a,)))
        self.refused("'n-m'", answer=Call("f", (a,), {"n-m": 1}))
        self.refused("'n' is a str", answer=Call("f", (a,), {"n": "1"}))  # type: ignore[dict-item]
        self.refused("argument 1 is a str", answer=Call("f", (a, "b")))  # type: ignore[arg-type]
        halves = np.zeros(3, np.float16)
        self.refused("array of float16: use float32", answer=Call("f", (a, halves)))
        self.refused("scratch of 0 bytes", answer=Call("f", (a, Scratch(0))))
        self.refused("another dispatch", answer=Call("f", (Operand("f32", (1, 0)),)))
        other = Packed(Operand("f32", (1, 0)), np.ascontiguousarray)
        self.refused("another dispatch", answer=Call("f", (other,)))
        self.refused("two arguments for sums", answer=Call("f", (Sums(), Sums())))

    def test_a_padding_cannot_be_overlooked(self) -> None:
        padding = Padding(_DISPATCH.a, 0, (Edge(1, 4, (1, 0)),))
        padded = replace(_DISPATCH, padding=padding)
        call = Call("f", (_DISPATCH.a, _DISPATCH.b, _DISPATCH.result))
        self.refused("pads=True", answer=call, dispatch=padded)
        right = replace(call, pads=True)
        self.assertIs(self.answers(right, padded), right)

    def test_what_follows_the_sums_cannot_be_forgotten(self) -> None:
        call = Call("f", (_RELU.a, _RELU.b, _RELU.result))
        self.assertIs(self.answers(call), call)  # without an epilogue
        self.refused("give it Sums()", "or finishes=True", answer=call, dispatch=_RELU)
        initial = replace(_DISPATCH, initial=_DISPATCH.b)
        self.refused("give it Sums()", answer=call, dispatch=initial)
        for right in (replace(call, finishes=True), Call("f", (_RELU.a, Sums()))):
            self.assertIs(self.answers(right, _RELU), right)
        without = Call("f", (_RELU.a,), finishes=True)
        self.refused("does not get it", answer=without, dispatch=_RELU)


if __name__ == "__main__":
    unittest.main()
