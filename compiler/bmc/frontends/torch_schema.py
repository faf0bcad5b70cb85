"""Checks the program of a .pt2 file, as JSON: every text that PyTorch would execute must be one that export writes.

PyTorch looks up op names by getattr, evaluates shape expressions as Python, writes names into the text of
a function that it compiles, and imports the modules that containers name.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any

from bmc.errors import BmcError

_OP = re.compile(r"torch\.ops\.(?!higher_order)[A-Za-z]\w*\.[A-Za-z_]\w*\.\w+")
_NAMESPACES = ("aten", "prims", "quantized_decomposed")
# Functions of sizes, and the ops that a module's blocks become.
_FUNCTION = re.compile(
    r"_operator\.(add|and_|eq|floordiv|ge|getitem|gt|le|lshift|lt|mod|mul|ne|neg|or_|pos|pow|rshift|sub"
    r"|truediv)|math\.(ceil|floor|trunc)|torch\.sym_(float|int|ite|max|min|not|sqrt)"
    r"|torch\.ops\.higher_order\.(cond|while_loop|scan|wrap_with_autocast|wrap_with_set_grad_enabled)"
)
# Text arguments that only choose a way to compute. Any other text might name a file.
_CHOICES = frozenset((
    "UPLO", "activation", "algorithm", "approximate", "assert_msg", "driver", "equation", "indexing",
    "interpolation", "mode", "norm", "ord", "p", "pad_mode", "padding", "padding_side", "reduce",
    "rounding_mode", "side",
))  # fmt: skip
_ATTRIBUTE = re.compile(r"[\w\-/:]+(\.[\w\-/:]+)*")
_CONTAINERS = (None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict")

_LONGEST_EXPRESSION = 4000
_SYMBOL = re.compile(r"[a-z]{1,5}\d{1,9}")
_SYMPY = frozenset((
    "Abs", "Add", "And", "CeilDiv", "CeilToInt", "CleanDiv", "Eq", "Equality", "Float", "FloatPow",
    "FloatTrueDiv", "FloorDiv", "FloorToInt", "Ge", "GreaterThan", "Gt", "Identity", "IntTrueDiv", "Integer",
    "IsNonOverlappingAndDenseIndicator", "LShift", "Le", "LessThan", "Lt", "Max", "Min", "Mod",
    "ModularIndexing", "Mul", "Ne", "Not", "Or", "Pow", "PowByNatural", "PythonMod", "RShift", "Rational",
    "RoundDecimal", "RoundToInt", "StrictGreaterThan", "StrictLessThan", "Symbol", "ToFloat", "TruncToFloat",
    "TruncToInt", "Unequality", "Where", "ceiling", "floor", "sqrt",
))  # fmt: skip
_VALUES = frozenset(("False", "True", "false", "int_oo", "nan", "oo", "true"))
_SYNTAX = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Load, ast.operator, ast.unaryop, ast.cmpop,
    ast.keyword,
)  # fmt: skip


def unsafe(source: str, what: str) -> BmcError:
    """Returns the error for a file that contains more than data."""
    return BmcError(
        "unsafe-file",
        f"'{source}' contains {what}: a model file is data, and bmc runs nothing in it",
        hint="save the program again with torch.export.save(), or return the module from a model.py, which"
        " is code",
    )


def clean(document: dict[str, Any], source: str) -> dict[str, Any]:
    """Returns the JSON of an ExportedProgram without the parts that bmc does not need.

    Args:
      document: the JSON, which is changed in place.
      source: name of the file, for messages.

    Raises:
      BmcError: it contains anything but the parts of a program.
    """
    document["guards_code"] = []  # Python text; bmc checks shapes itself.
    document["graph_module"]["metadata"] = {}
    document["graph_module"]["treespec_namedtuple_fields"] = {}
    _walk(document, source)
    return document


def check_attribute(name: Any, source: str) -> None:
    """Refuses the name of a parameter or buffer unless PyTorch can safely write it into code."""
    if not isinstance(name, str) or not _ATTRIBUTE.fullmatch(name):
        raise unsafe(source, f"the name {quoted(name)}")


def _walk(value: Any, source: str) -> None:
    if isinstance(value, list):
        for item in value:
            _walk(item, source)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "metadata":
            # The other entries name functions and objects of the exporter.
            trace = item.get("stack_trace")
            value[key] = {"stack_trace": trace} if isinstance(trace, str) else {}
        elif key in _CHECKS and item is not None:
            _CHECKS[key](item, source)
        else:
            _walk(item, source)


def _check_target(target: Any, source: str) -> None:
    import torch

    if not isinstance(target, str) or not _OP.fullmatch(target):
        if not isinstance(target, str) or not _FUNCTION.fullmatch(target):
            raise unsafe(source, f"a call of {quoted(target)}")
        return
    op: Any = torch
    for name in target.split(".")[1:]:
        op = getattr(op, name, None)
    if not isinstance(op, torch._ops.OpOverload) or op.namespace not in _NAMESPACES:
        raise BmcError(
            "op-rejected",
            f"op '{target.removeprefix('torch.ops.')}' in '{source}' is not one of PyTorch's own",
            hint="export the module with other ops",
        )
    for argument in op._schema.arguments:
        if "str" in str(argument.type) and argument.name not in _CHOICES:
            raise unsafe(source, f"a call of {quoted(target)}, which takes text")


def _check_name(name: Any, source: str) -> None:
    if not isinstance(name, str) or (name and not name.isidentifier()):
        raise unsafe(source, f"the name {quoted(name)}")


def _check_names(names: Any, source: str) -> None:
    for name in names:
        _check_name(name, source)


def _check_expression(text: Any, source: str) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST_EXPRESSION:
        raise unsafe(source, f"the expression {quoted(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not all(map(_is_arithmetic, ast.walk(tree))):
        raise unsafe(source, f"the expression {quoted(text)}")


def _is_arithmetic(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in _SYMPY
        case ast.Name(id=name):
            return name in _SYMPY or name in _VALUES or bool(_SYMBOL.fullmatch(name))
        case ast.Constant(value=str(text)):
            # For example Symbol('s0'), Float('0.5').
            return bool(_SYMBOL.fullmatch(text) or re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", text))
        case ast.Constant(value=value):
            return value is None or isinstance(value, (bool, int, float))
    return isinstance(node, _SYNTAX)


def _check_inputs(text: Any, source: str) -> None:
    # Keys become names of arguments.
    _check_tree(text, source, str.isidentifier)


def _check_outputs(text: Any, source: str) -> None:
    _check_tree(text, source, lambda key: True)


def _check_tree(text: Any, source: str, is_key: Callable[[str], bool]) -> None:
    def check(node: Any) -> None:
        if node["type"] not in _CONTAINERS:
            raise unsafe(source, f"the container {quoted(node['type'])}")
        keys = json.loads(node["context"] or "null") or []
        if not isinstance(keys, list) or not all(isinstance(k, str) and is_key(k) for k in keys):
            raise unsafe(source, f"the keys {quoted(keys)}")
        for child in node["children_spec"]:
            check(child)

    check(json.loads(text)[1])


def _refuse_object(value: Any, source: str) -> None:
    if value:
        raise unsafe(source, f"an object of class {quoted(_class(value))}")


def _class(value: Any) -> Any:
    while isinstance(value, dict) and value:
        value = value.get("class_fqn", next(iter(value.values())))
    return value


def quoted(value: Any) -> str:
    return f"'{value}'"[:100]


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "as_custom_obj": _refuse_object,
    "as_name": _check_name,
    "as_operator": _check_target,
    "buffer_name": check_attribute,
    "custom_obj": _refuse_object,
    "custom_obj_values": _refuse_object,
    "expr_str": _check_expression,
    "forward_arg_names": _check_names,
    "in_spec": _check_inputs,
    "name": _check_name,
    "out_spec": _check_outputs,
    "parameter_name": check_attribute,
    "target": _check_target,
    "tensor_constant_name": check_attribute,
    "user_input_name": _check_name,
}
