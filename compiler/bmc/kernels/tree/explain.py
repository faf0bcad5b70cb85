"""Explains a kernel to those who extend the generator: its problem, its tree, and its text."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.product import Loop, Node
from bmc.kernels.tree import tree
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.tree.tree import Repeat, Skippable, Within


def explained(problem: Problem, kernel: Kernel) -> str:
    """Returns a problem, and its kernel's tree and text."""
    return "\n".join(
        (
            f"problem: {type(problem).__name__}",
            *_problem(problem),
            "",
            f"tree: {kernel.executed:,} instructions",
            *_tree(kernel.nodes, "  "),
            "",
            f"text: arguments {' '.join(kernel.arguments)}; scratch {kernel.scratch:,} B",
            *(f"  {line}" for line in kernel.text.splitlines()),
        )
    )


def _problem(problem: Problem) -> Iterator[str]:
    for field in dataclasses.fields(problem):
        value = getattr(problem, field.name)
        if value in ((), None, False):
            continue
        is_list = isinstance(value, tuple) and isinstance(value[0], Loop | Node)
        if not is_list:
            yield f"  {field.name}: {_value(value)}"
            continue
        yield f"  {field.name}:"
        for number, each in enumerate(value):
            yield f"    {number}: {_value(each)}"


def _value(value: Any) -> str:
    match value:
        case Loop(extent=extent, strides=strides, steps=steps):
            steps_text = f", steps {_numbers(steps)} along edges" if any(steps) else ""
            return f"{extent} times, strides {_numbers(strides)}{steps_text}"
        case Node(op=op, dtype=dtype, args=args, operand=operand, value=number):
            read = " ".join(f"%{arg}" for arg in args)
            argument = (
                f"operand {operand}" if operand else f"{number:g}" if op == "constant" else ""
            )
            return " ".join(filter(None, (op, dtype, read, argument)))
        case tuple():
            return _numbers(value)
    return str(value)


def _numbers(values: Sequence[object]) -> str:
    return " ".join(str(value) or "-" for value in values)


def _tree(nodes: Sequence[tree.Node], indent: str) -> Iterator[str]:
    """Yields loops and branches, and between them the number of instructions by mnemonic."""
    plain: list[str] = []
    for node in (*nodes, None):
        if isinstance(node, str | tree.Add):
            plain += [line.split()[0] for line in tree.instructions(node)]
            continue
        if plain:
            counts = Counter(plain).items()
            yield indent + ", ".join(
                f"{count} {name}" if count > 1 else name for name, count in counts
            )
            plain = []
        match node:
            case Repeat():
                yield f"{indent}{node.count} times:"
                yield from _tree(node.body, indent + "  ")
            case Within():
                yield f"{indent}inside the image:"
                yield from _tree(node.then, indent + "  ")
                yield f"{indent}outside:"
                yield from _tree(node.otherwise, indent + "  ")
            case Skippable():
                yield f"{indent}if the index is in range:"
                yield from _tree(node.body, indent + "  ")
