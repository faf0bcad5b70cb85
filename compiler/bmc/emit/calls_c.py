"""Writes the calls of kernel libraries as C: one function for each dispatch function that a library takes."""

from __future__ import annotations

import numpy as np

from bmc.emit import c_text
from bmc.kernels.ops import OPS
from bmc.kernels.problem.product import RESULT, Node
from bmc.libraries.dispatch import Array
from bmc.plan.calls import LinkedCall, Place

_C_TYPES = {"f32": "float", "i32": "int32_t", "i8": "int8_t"}
# The function that waits for all libraries whose calls may return before they are done.
WAIT = "wait_for_calls"


def includes(calls: tuple[LinkedCall, ...]) -> str:
    """Returns the includes that the calls need, "" for no calls."""
    if not calls:
        return ""
    headers = dict.fromkeys(call.taken.library.header for call in calls)
    lines = [f'#include "{header}"\n' for header in headers]
    return "".join([*lines, '#include "runtime_bm/exec/call.h"\n'])


def source(calls: tuple[LinkedCall, ...], export_count: int) -> str:
    """Returns the functions, the table k_functions of them, and k_table, memory for pointers to all exports."""
    if not calls:
        return ""
    text = "".join(_Writer(number, call).text() for number, call in enumerate(calls))
    functions = (f"(bm_plan_function_t)call_{number}" for number in range(len(calls)))
    text += c_text.array("static const bm_plan_function_t k_functions", functions)
    return text + f"static const void *k_table[{export_count}];\n\n"


def wait(calls: tuple[LinkedCall, ...]) -> str:
    """Returns the function WAIT, "" if no call needs it."""
    waits = dict.fromkeys(call.taken.call.wait for call in calls if call.taken.call.wait)
    if not waits:
        return ""
    *others, last = (f"{name}()" for name in waits)
    lines = "".join(f"  BM_TRY({each});\n" for each in others)
    return f"static bm_status_t {WAIT}(void) {{\n{lines}  return {last};\n}}\n\n"


class _Writer:
    """Writes one call. Names in C begin with its number."""

    def __init__(self, number: int, call: LinkedCall) -> None:
        self._name = f"call_{number}"
        self._call = call
        self._arrays: list[str] = []

    def text(self) -> str:
        taken = self._call.taken
        arguments = [self._address(each) for each in self._call.arguments]
        function = taken.call.function
        fields = ", ".join(
            f".{name} = {_number(value)}" for name, value in taken.call.params.items()
        )
        called = f"{function}({', '.join([f'&{self._name}_params', *arguments])})"
        body = [f"const int status = {called};", "if (status != 0) return status;"]
        body += self._epilogue()
        lines = "".join(f"  {line}\n" for line in ["BM_CALL_BEGIN();", *body, "return 0;"])
        return (
            f"// {c_text.comment(self._call.function)}, by {c_text.comment(taken.library.name)}\n"
            + "".join(self._arrays)
            + f"static const {function}_params_t {self._name}_params = {{{fields}}};\n"
            + f"BM_CALL({self._name}) {{\n{lines}}}\n\n"
        )

    def _address(self, place: Place | Array) -> str:
        if isinstance(place, Place):
            return f"BM_CALL_AT({place.binding}, {place.offset}u)"
        name = f"{self._name}_array_{len(self._arrays)}"
        array = np.ascontiguousarray(place)
        kind = "float" if array.dtype == np.float32 else f"{array.dtype.name}_t"
        numbers = [_number(value) for value in array.reshape(-1).tolist()]
        lines = [", ".join(numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
        self._arrays.append(
            c_text.array(f"_Alignas(8) static const {kind} {name}", lines).rstrip("\n") + "\n"
        )
        return f"(void *)(uintptr_t){name}"

    def _epilogue(self) -> list[str]:
        """Returns the lines that make results of sums; none if the library does that, or there is nothing to do."""
        call, dispatch = self._call, self._call.taken.dispatch
        if call.sums is None:
            return []
        in_place = call.sums == call.operands[RESULT]
        if in_place and not dispatch.epilogue and not dispatch.initial:
            return []
        lines = [f"const {_C_TYPES[dispatch.sums_dtype]} *sum = {self._address(call.sums)};"]
        for number, place in call.operands.items():
            kind = _C_TYPES[dispatch.operands[number].dtype]
            constant = "" if number == RESULT or self._is_stored(number) else "const "
            lines.append(f"{constant}{kind} *const at_{number} = {self._address(place)};")
        depth = 0
        for loop, about in enumerate(dispatch.loops):
            if about.is_summed:
                continue
            lines.append(
                "  " * depth
                + f"for (uint32_t i{loop} = 0; i{loop} != {about.extent}u; ++i{loop}) {{"
            )
            depth += 1
        lines += ["  " * depth + line for line in self._values()]
        lines += ["  " * level + "}" for level in reversed(range(depth))]
        return lines

    def _is_stored(self, number: int) -> bool:
        nodes = self._call.taken.dispatch.epilogue
        return any(node.op == "store" and node.operand == number for node in nodes)

    def _values(self) -> list[str]:
        """Returns the lines of the innermost loop."""
        dispatch = self._call.taken.dispatch
        start = "*sum++"
        for number, operand in enumerate(dispatch.operands):
            if operand is dispatch.initial:
                element = self._element(number)
                start = OPS["addf" if dispatch.sums_dtype == "f32" else "addi"].c.format(
                    start, element
                )
        nodes = dispatch.epilogue or (Node("sum", dispatch.sums_dtype),)
        lines = []
        for number, node in enumerate(nodes):
            if node.op == "store":
                lines.append(self._store(node.operand, node.args[0]))
                continue
            kind = "float" if node.dtype == "f32" else "int32_t"
            value = start if node.op == "sum" else self._value(node, nodes)
            lines.append(f"const {kind} v{number} = {value};")
        return [*lines, self._store(RESULT, len(nodes) - 1)]

    def _value(self, node: Node, nodes: tuple[Node, ...]) -> str:
        args = [f"v{arg}" for arg in node.args]
        if node.op == "constant":
            return _number(node.value if node.dtype == "f32" else int(node.value))
        if node.op == "load":
            return self._element(node.operand)
        if node.op == "lookup":
            return f"at_{node.operand}[{args[0]}]"
        if node.op == "bitcast":
            kinds = nodes[node.args[0]].dtype == "f32", node.dtype == "f32"
            if kinds == (True, False):
                return f"bm_call_bits_of_float({args[0]})"
            return f"bm_call_float_of_bits({args[0]})" if kinds == (False, True) else args[0]
        return OPS[node.op].c.format(*args)

    def _element(self, number: int) -> str:
        dispatch = self._call.taken.dispatch
        steps = dispatch.operands[number].steps
        terms = [
            f"i{loop} * {step}u"
            for loop, (about, step) in enumerate(zip(dispatch.loops, steps, strict=True))
            if step and not about.is_summed
        ]
        return f"at_{number}[{' + '.join(terms) or '0'}]"

    def _store(self, number: int, value: int) -> str:
        kind = _C_TYPES[self._call.taken.dispatch.operands[number].dtype]
        return f"{self._element(number)} = ({kind})v{value};"


def _number(value: float) -> str:
    """Returns a number in C; a float has all its bits."""
    if isinstance(value, int | np.integer):
        return "INT32_MIN" if value == -(2**31) else str(int(value))
    number = np.float32(value)
    if np.isnan(number):
        return '__builtin_nanf("")'
    if np.isinf(number):
        return "-__builtin_inff()" if number < 0 else "__builtin_inff()"
    return f"{float(number).hex()}f"
