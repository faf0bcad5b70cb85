"""Executes operations of the VM dialect at build time.

Almost everything in a host program is known except the contents of buffers, so bmc runs it instead of
analyzing it. Integers are Python integers, references are Python objects, and calls to imports go to
handlers, which record what the program does to buffers (hal.py). Integers that the program reads back from
a buffer are Variables. Operations on those go to a Host (control.py), which also follows the control flow
of entry points. An operation that is not listed here is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.host.program import Integer, Variable
from bmc.ir import ir_util

# Returns the results of the call. A variadic argument is a list.
Import = Callable[..., tuple[Any, ...]]
# Stands for every fence, because one queue executes everything in order.
FENCE = "fence"
# Far more than any real host program needs. Without a limit, an endless loop would hang the build.
STEP_LIMIT = 10_000_000


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


_BINARY: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "cmp.eq": lambda a, b, bits: int(a == b),
    "cmp.ne": lambda a, b, bits: int(a != b),
    "cmp.lt.s": lambda a, b, bits: int(a < b),
    "cmp.lt.u": lambda a, b, bits: int(_unsigned(a, bits) < _unsigned(b, bits)),
    "min.s": lambda a, b, bits: min(a, b),
    "min.u": lambda a, b, bits: min(_unsigned(a, bits), _unsigned(b, bits)),
    "max.s": lambda a, b, bits: max(a, b),
    "max.u": lambda a, b, bits: max(_unsigned(a, bits), _unsigned(b, bits)),
    "shl": lambda a, b, bits: a << b,
    "shr.s": lambda a, b, bits: a >> b,
    "shr.u": lambda a, b, bits: _unsigned(a, bits) >> b,
}


def _binary_ops() -> dict[str, Callable[[int, int], int]]:
    """Returns the functions for vm.add.i32, vm.cmp.lt.i64.s and so on, made from _BINARY."""
    table: dict[str, Callable[[int, int], int]] = {}
    for name, function in _BINARY.items():
        stem, _, sign = name.rpartition(".") if name.endswith((".s", ".u")) else (name, "", "")
        for bits in (32, 64):
            full = f"vm.{stem}.i{bits}" + (f".{sign}" if sign else "")
            result_bits = 32 if stem.startswith("cmp") else bits

            def run(a: int, b: int, f: Any = function, n: int = bits, r: int = result_bits) -> int:
                return _signed(f(a, b, n), r)

            table[full] = run
    return table


# Name -> function of the operand values, for operations without side effects or attributes.
_PURE: dict[str, Callable[..., Any]] = {
    **_binary_ops(),
    "vm.const.i32.zero": lambda: 0,
    "vm.const.i64.zero": lambda: 0,
    "vm.const.ref.zero": lambda: None,
    "vm.cmp.nz.i32": lambda a: int(a != 0),
    "vm.cmp.nz.i64": lambda a: int(a != 0),
    "vm.cmp.nz.ref": lambda a: int(a is not None),
    "vm.fma.i32": lambda a, b, c: _signed(a * b + c, 32),
    "vm.fma.i64": lambda a, b, c: _signed(a * b + c, 64),
    "vm.select.i32": lambda c, a, b: a if c else b,
    "vm.select.i64": lambda c, a, b: a if c else b,
    "vm.select.ref": lambda c, a, b: a if c else b,
    "vm.ext.i8.i32.s": lambda a: _signed(a, 8),
    "vm.ext.i8.i32.u": lambda a: _unsigned(a, 8),
    "vm.ext.i16.i32.s": lambda a: _signed(a, 16),
    "vm.ext.i16.i32.u": lambda a: _unsigned(a, 16),
    "vm.ext.i32.i64.s": lambda a: a,
    "vm.ext.i32.i64.u": lambda a: _unsigned(a, 32),
    "vm.trunc.i64.i32": lambda a: _signed(a, 32),
    "vm.list.get.ref": lambda items, index: items[index],
}
_IGNORED = {"vm.discard.refs", "vm.trace"}
_CALLS = {"vm.call", "vm.call.yieldable", "vm.call.variadic", "vm.call.variadic.yieldable"}


@dataclass(frozen=True)
class Choice:
    """A reference that is `first` if the condition is not zero, else `second`."""

    condition: Variable
    first: Any
    second: Any


class Host(Protocol):
    """Handles what is not known at build time."""

    def compute(self, operation: str, operands: Sequence[Integer]) -> Variable:
        """Returns the result of an operation on one or more Variables."""

    def select(self, condition: Variable, first: Any, second: Any) -> Any:
        """Returns `first` if the condition is not zero, else `second`."""


class VirtualMachine:
    """A loaded module. Its globals keep their values between calls, as on a real VM."""

    def __init__(self, module: Any, imports: dict[str, Import]) -> None:
        """Loads a parsed module that contains only a vm.module. Its ir.Context must remain entered."""
        # The operations below are views into the module that do not keep it alive.
        self._module = module
        self._imports = imports
        self._functions: dict[str, ir_util.Op] = {}
        self._rodata: dict[str, bytes] = {}
        self._globals: dict[str, Any] = {}
        self._steps = 0
        # Set after initialization.
        self.host: Host | None = None
        self._calling: ir_util.Op | None = None
        (vm_module,) = module.body.operations
        for op in vm_module.operation.regions[0].blocks[0]:
            name = op.operation.name
            if name == "vm.func":
                self._functions[ir_util.string(op, "sym_name")] = op.operation
            elif name == "vm.rodata":
                self._rodata[ir_util.string(op, "sym_name")] = attribute_bytes(
                    op.operation.attributes["value"]
                )
            elif name in ("vm.global.i32", "vm.global.i64"):
                initial = op.operation.attributes
                self._globals[ir_util.string(op, "sym_name")] = (
                    ir.IntegerAttr(initial["initial_value"]).value
                    if "initial_value" in initial
                    else 0
                )
            elif name == "vm.global.ref":
                self._globals[ir_util.string(op, "sym_name")] = None
            elif name not in ("vm.import", "vm.export", "vm.module_terminator"):
                raise unsupported(name)

    def layer(self) -> str:
        """Returns the layer of the model that the latest call of an import belongs to, "" if unknown."""
        return ir_util.layer(self._calling) if self._calling else ""

    def defines(self, function: str) -> bool:
        return function in self._functions

    def blocks(self, function: str) -> list[Any]:
        """Returns the blocks of a function, entry block first; raises BmcError if there is no such function."""
        if function not in self._functions:
            raise BmcError("no-main", f"the compiled model has no function '{function}'")
        return list(self._functions[function].regions[0].blocks)

    def call(self, function: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs a function up to its vm.return and returns the results."""
        block = self.blocks(function)[0]
        values: dict[Any, Any] = dict(zip(block.arguments, arguments, strict=True))
        while True:
            for op_view in block:
                op = op_view.operation
                operands = [values[operand] for operand in op.operands]
                self._steps += 1
                if self._steps > STEP_LIMIT:
                    raise BmcError(
                        "host-program",
                        f"the host program runs more than {STEP_LIMIT} steps in {function}",
                    )
                if op.name == "vm.return":
                    return tuple(operands)
                if op.name == "vm.fail":
                    raise gave_up(op)
                results = self.evaluate(op, operands)
                if op.successors:
                    if op.name == "vm.cond_br" and isinstance(operands[0], Variable):
                        raise unsupported(f"a branch on a run-time value in {function}")
                    block, arguments = branch(op, operands, results)
                    values.update(zip(block.arguments, arguments, strict=True))
                    break
                values.update(zip(op.results, results, strict=True))

    def evaluate(self, op: ir_util.Op, operands: list[Any]) -> tuple[Any, ...]:
        """Executes one operation and returns its results; branches have none."""
        name = op.name
        if name == "vm.select.ref" and self.host and isinstance(operands[0], Variable):
            return (self.host.select(operands[0], operands[1], operands[2]),)
        if name in _PURE:
            if self.host and any(isinstance(operand, Variable) for operand in operands):
                return (self.host.compute(name, operands),)
            return (_PURE[name](*operands),)
        if name in _CALLS:
            return self._call(op, operands)
        if name in ("vm.const.i32", "vm.const.i64"):
            return (ir.IntegerAttr(op.attributes["value"]).value,)
        if name == "vm.const.ref.rodata":
            return (self._rodata[ir_util.string(op, "rodata")],)
        if name.startswith("vm.global.load."):
            return (self._globals[ir_util.string(op, "global")],)
        if name.startswith("vm.global.store."):
            if self.host:  # a state that rewrites/meaning/states.py did not find
                raise unsupported(f"{name} @{ir_util.string(op, 'global')}")
            self._globals[ir_util.string(op, "global")] = operands[0]
            return ()
        if name in _IGNORED or name in ("vm.br", "vm.cond_br"):
            return ()
        raise unsupported(name)

    def _call(self, op: ir_util.Op, operands: list[Any]) -> tuple[Any, ...]:
        callee = ir_util.string(op, "callee")
        if callee in self._functions:
            return self.call(callee, operands)
        if callee not in self._imports:
            raise unsupported(callee)
        self._calling = op
        return self._imports[callee](*_arguments(op, operands))


def branch(
    op: ir_util.Op, operands: list[Any], results: tuple[Any, ...]
) -> tuple[Any, Sequence[Any]]:
    """Returns the target block of a branch with a known condition, and the block's arguments."""
    if op.name == "vm.cond_br":
        taken, other = branch_targets(op, operands)
        return taken if operands[0] else other
    (target,) = op.successors
    return (target, operands) if op.name == "vm.br" else (target, results)


def branch_targets(
    op: ir_util.Op, operands: list[Any]
) -> tuple[tuple[Any, Sequence[Any]], tuple[Any, Sequence[Any]]]:
    """Returns the two blocks of a vm.cond_br with their arguments, the one for "not zero" first."""
    first, second = op.successors
    split = 1 + len(first.arguments)
    return (first, operands[1:split]), (second, operands[split:])


def _arguments(op: ir_util.Op, operands: list[Any]) -> list[Any]:
    """Groups a variadic call's flat operands into lists, of tuples where the type says so."""
    if "segment_sizes" not in op.attributes:
        return operands
    arguments: list[Any] = []
    position = 0
    sizes = ir.DenseIntElementsAttr(op.attributes["segment_sizes"])
    for size, segment_type in zip(sizes, ir.ArrayAttr(op.attributes["segment_types"]), strict=True):
        if size < 0:
            arguments.append(operands[position])
            position += 1
            continue
        element = ir.TypeAttr(segment_type).value
        if isinstance(element, ir.TupleType):
            width = element.num_types
            items = [
                tuple(operands[position + i * width : position + (i + 1) * width])
                for i in range(size)
            ]
        else:
            width = 1
            items = operands[position : position + size]
        arguments.append(items)
        position += size * width
    return arguments


def attribute_bytes(attribute: Any) -> bytes:
    """Returns the bytes of a vm.rodata value: a string, dense elements, or a #util.composite of both."""
    if isinstance(attribute, ir.StringAttr):
        return bytes(attribute.value_bytes)
    if isinstance(attribute, ir.DenseElementsAttr):
        return memoryview(attribute).tobytes()
    text = str(attribute)
    if text.startswith("#util.composite<"):
        inner = text[text.index("[") + 1 : text.rindex("]")]
        return b"".join(
            attribute_bytes(ir.Attribute.parse(part)) for part in _split_top_level(inner)
        )
    raise unsupported(f"vm.rodata with {text[:60]}")


def _split_top_level(text: str) -> list[str]:
    """Splits at commas outside of quotes and brackets."""
    parts: list[str] = []
    depth = 0
    quoted = False
    start = 0
    for i, char in enumerate(text):
        if char == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and char in "<[(":
            depth += 1
        elif not quoted and char in ">])":
            depth -= 1
        elif not quoted and depth == 0 and char == ",":
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def gave_up(op: ir_util.Op) -> BmcError:
    """Returns the error for a vm.fail that the program reaches or may reach."""
    message = ir_util.string(op, "message") if "message" in op.attributes else "no message"
    return BmcError("host-program", f"the host program gives up at build time: {message}")


def unsupported(
    name: str, hint: str = "the sizes of all tensors must be known when the model is compiled"
) -> BmcError:
    """Returns the error for an operation of IREE's program for the host; its kernels may be any."""
    return BmcError(
        "unsupported-host-op",
        "the model computes between its kernels what bmc cannot express in tables and C",
        hint=f"{hint}; IREE's program contains '{name}'",
    )
