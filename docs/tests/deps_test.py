"""The README's table of what a model.py needs: for every row there is a model that `//...` builds with just that."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

from docs.tests import declared

ROOT = Path(os.environ["TREE"]).resolve().parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
_HEAD = '| `model.py` returns | `deps` | with `quantize = "int8"` also |\n| --- | --- | --- |\n'
_PACKAGE = re.compile(r'requirement\("[^"]+"\)')
BUILT = [model for model in declared.models(ROOT) if "manual" not in model.tags]


def rows(readme: str) -> list[tuple[str, list[str], list[str]]]:
    """Returns framework, packages, and packages for int8 (none if that is not possible) of each row."""
    table = readme.split(_HEAD)[1].split("\n\n")[0]
    found = []
    for line in table.splitlines():
        returned, deps, also = line.strip("| ").split(" | ")
        framework = re.search(r"torch|keras|jax", returned.lower())
        assert framework is not None, line
        packages, more = (_PACKAGE.findall(cell) for cell in (deps, also))
        found.append((framework[0], packages, packages + more if more else []))
    return found


def proven(framework: str, packages: list[str], quantize: str) -> bool:
    """Whether a model that is built imports the framework and has these packages and no other."""
    imports = re.compile(rf"^import {framework}$", re.MULTILINE)
    return any(
        sorted(dep for dep in model.deps if _PACKAGE.fullmatch(dep)) == sorted(packages)
        and model.quantize == quantize
        and imports.search(model.source.read_text(encoding="utf-8"))
        for model in BUILT
        if model.source.suffix == ".py"
    )


def wrong(readme: str) -> list[str]:
    """Returns the rows that no model proves."""
    return [
        f"{framework} {quantize or 'f32'}: {packages}"
        for framework, *both in rows(readme)
        for quantize, packages in zip(("", "int8"), both, strict=True)
        if packages and not proven(framework, packages, quantize)
    ]


class DepsTest(unittest.TestCase):
    def test_a_model_that_is_built_has_what_each_row_names(self) -> None:
        self.assertEqual([framework for framework, *_ in rows(README)], ["torch", "keras", "jax"])
        self.assertEqual(wrong(README), [])

    def test_a_package_too_few_or_too_many_is_noticed(self) -> None:
        for old, new, count in (
            ('`requirement("torch")`, ', "", 2),
            ('`requirement("torchao")`', '`requirement("torchao")`, `requirement("onnx")`', 1),
            ('`requirement("keras")`, ', "", 2),
            ('`requirement("jax")`', '`requirement("jax")`, `requirement("torch")`', 1),
            (
                '`requirement("jax")` | not possible',
                '`requirement("jax")` | `requirement("jax")`',
                1,
            ),
            ("a function of JAX arrays", "a `keras.Model`", 1),
        ):
            table = README.split(_HEAD)
            self.assertIn(old, table[1])
            changed = table[1].replace(old, new, 1)
            self.assertEqual(len(wrong(_HEAD.join((table[0], changed)))), count, new)


if __name__ == "__main__":
    unittest.main()
