"""Tests which names inputs get."""

from __future__ import annotations

import unittest
from typing import Any

from bmc.frontends import argument_names


class _Model:
    def forward(self, image: Any, mask: Any = None) -> Any:
        return image, mask

    def of_any_number(self, image: Any, *others: Any) -> Any:
        return image, others

    def by_name(self, image: Any, *, mask: Any) -> Any:
        return image, mask


class ArgumentNamesTest(unittest.TestCase):
    def test_arguments_name_inputs(self) -> None:
        self.assertEqual(argument_names.first(_Model().forward, 2), ("image", "mask"))
        self.assertEqual(argument_names.first(_Model().forward, 1), ("image",))

    def test_some_inputs_without_a_name(self) -> None:
        self.assertEqual(argument_names.first(_Model().of_any_number, 2), ())
        self.assertEqual(argument_names.first(_Model().by_name, 2), ())

    def test_what_is_not_written_in_python(self) -> None:
        self.assertEqual(argument_names.first(type, 1), ())


if __name__ == "__main__":
    unittest.main()
