"""What a source file does: two texts that differ only in comments, imports, types or messages do the same."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

# They refuse what no caller does, or say how objects are stored.
_CHECKS = {"strict", "frozen", "slots", "kw_only", "order"}
# Nothing behind them in a block is done.
_ENDS = (ast.Break, ast.Continue, ast.Raise, ast.Return)
# Texts for people.
_TEXTS = {"hint", "help", "description", "metavar", "prog", "epilog", "title"}
_C_LEFT_OUT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|#include[^\n]*|\s+', re.DOTALL)


def differs(suffix: str, before: str, after: str) -> bool:
    """Whether `after` is a program, and one that does something else than `before` as far as parsing tells."""
    if suffix != ".py":
        return _C_LEFT_OUT.sub(" ", before) != _C_LEFT_OUT.sub(" ", after)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(after, "mutant.py", "exec", dont_inherit=True)
            return _dump(before) != _dump(after)
    except (SyntaxError, ValueError):
        return False


def _dump(text: str) -> str:
    return ast.dump(_Meaning().visit(ast.parse(text)))


class _Meaning(ast.NodeTransformer):
    """Leaves out what a program does not do."""

    def visit(self, node: ast.AST) -> Any:
        found = super().visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(found, name, None)
            if isinstance(block, list):
                ends = [place for place, each in enumerate(block) if isinstance(each, _ENDS)]
                done = block[: ends[0] + 1] if ends else block
                block[:] = [each for each in done if not isinstance(each, ast.Pass)]
        return found

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        constant = isinstance(node.value, ast.Constant)
        return ast.Pass() if constant else self.generic_visit(node)

    def _nothing(self, node: ast.AST) -> ast.AST:
        return ast.Pass()

    visit_Import = visit_ImportFrom = visit_Assert = visit_Pass = _nothing

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        # Nothing is imported by a star.
        is_list = ast.unparse(node.targets[0]) == "__all__"
        return ast.Pass() if is_list else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        # It continues anyway.
        _without_end(node.body, lambda end: isinstance(end, ast.Continue))
        return self.generic_visit(node)

    visit_While = visit_For

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        # It returns None anyway.
        _without_end(node.body, lambda end: isinstance(end, ast.Return) and _is_none(end.value))
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        if node.arg in _CHECKS:
            return None
        return self.generic_visit(_Mute().visit(node) if node.arg in _TEXTS else node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return self.generic_visit(_Mute().visit(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func)
        if name.endswith(("Error", ".error", "print")):
            for argument in node.args + node.keywords:
                _Mute().visit(argument)
            node.args = [_Mute().visit(argument) for argument in node.args]
        return self.generic_visit(node)


def _without_end(block: list[ast.stmt], needless: Callable[[ast.stmt], bool]) -> None:
    """Removes such a statement from the end of a block, and of the branches that it ends with."""
    while block and (isinstance(block[-1], ast.Pass) or needless(block[-1])):
        block[-1:] = []
    if block and isinstance(block[-1], ast.If):
        _without_end(block[-1].body, needless)
        _without_end(block[-1].orelse, needless)


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


class _Mute(ast.NodeTransformer):
    """Leaves out texts."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return ast.Constant("") if isinstance(node.left, ast.Constant) else node
