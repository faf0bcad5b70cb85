"""The plans of an image as the debugger sees them: commands and the tensors in memory they use.

Runs inside gdb. Shapes and element types, which plan.h does not have, come from each model's
report.json.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gdb

from tools.run.debug import npy

_ABI = json.loads(
    (Path(__file__).absolute().parents[4] / "runtime_bm/plan/plan_abi.json").read_text()
)


def _names(enum: str) -> dict[int, str]:
    return {number: name.lower() for name, number in _ABI["enums"][enum].items()}


KINDS = _names("command")
REGIONS = _names("region")
DTYPES = _names("dtype")
# Tables of a plan, and what their rows are.
_ROWS = {
    "exports": "bm_plan_export_t",
    "commands": "bm_plan_command_t",
    "bindings": "bm_plan_binding_t",
    "inputs": "bm_plan_tensor_t",
    "outputs": "bm_plan_tensor_t",
    "extents": "uint32_t",
    "strings": "char",
}

Report = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Tensor:
    """Memory that a command reads or writes.

    Attributes:
      name: such as "in0" or "out3", with the number of its binding.
      is_placed: whether its place in the binding is known; if not, this is the whole binding.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    address: int
    reads: bool
    writes: bool
    is_placed: bool

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * npy.item_bytes(self.dtype)

    def describe(self) -> str:
        return f"{self.name}: {self.dtype}[{'x'.join(map(str, self.shape))}] at {self.address:#x}"

    def save(self, path: Path) -> None:
        """Saves the memory's current contents as .npy; raises gdb.MemoryError."""
        data = bytes(gdb.selected_inferior().read_memory(self.address, self.bytes))
        npy.write(path, self.dtype, self.shape, data)


@dataclasses.dataclass(frozen=True)
class Command:
    """Command number `index` of a plan; `function` is "" unless it is a dispatch."""

    index: int
    kind: str
    function: str
    source: str
    workgroups: tuple[int, ...]

    def describe(self) -> str:
        if self.kind != "dispatch":
            return f"command {self.index}: {self.kind}"
        groups = "x".join(map(str, self.workgroups))
        made_of = f" of {self.source}" if self.source else ""
        return f"command {self.index}: {self.function}{made_of}, {groups} workgroups"


class Plan:
    """A plan in the image, with its report; `value` is a bm_plan_t."""

    def __init__(self, value: gdb.Value, report: Report | None) -> None:
        self.value = value
        self.header = value["header"].dereference()
        self.report = report
        self.name = self.string(self.header["name"])
        self.command_count = self.count("commands")
        self.reset_count = int(self.header["reset_count"])

    def count(self, table: str) -> int:
        return int(self.header[table]["count"])

    def rows(self, table: str) -> gdb.Value:
        """Returns a table as a pointer to its rows; raises gdb.GdbError if it has none."""
        if not self.count(table):
            raise gdb.GdbError(f"the plan has no {table}")
        if table == "bindings" and int(self.value[table]):  # a driver changes them
            return self.value[table]
        start = int(self.value["header"]) + int(self.header[table]["offset"])
        return gdb.Value(start).cast(gdb.lookup_type(_ROWS[table]).pointer())

    def string(self, offset: gdb.Value) -> str:
        text: str = (self.rows("strings") + int(offset)).string()
        return text

    def holds(self, row: gdb.Value) -> bool:
        """Whether a row lies in one of the plan's tables."""
        start = int(self.value["header"])
        return start <= int(row.address or 0) < start + int(self.header["bytes"])

    def command(self, index: int) -> Command:
        raw = self.rows("commands")[index]
        kind = KINDS[int(raw["kind"])]
        number = int(raw["export_index"])
        groups = tuple(int(raw["workgroup_count"][axis]) for axis in range(3))
        if kind != "dispatch":
            return Command(index, kind, "", "", groups)
        function = self._function(number)
        return Command(index, kind, function, self._dispatch(number, function)["source"], groups)

    def kernels(self, runner: gdb.Value) -> list[tuple[int, str]]:
        """Returns the address of every kernel, and its name if it is linked."""
        functions = runner["functions"]
        return [
            (int(functions[i]), f"{self.name}_k_{self._function(i)}")
            for i in range(self.count("exports"))
        ]

    def _function(self, number: int) -> str:
        return self.string(self.rows("exports")[number]["name"])

    def tensors(self, runner: gdb.Value, index: int) -> list[Tensor]:
        """Returns the operands of a command, with the addresses they have in this run.

        Args:
          runner: the bm_plan_runner_t that runs it.
        """
        raw = self.rows("commands")[index]
        kind = KINDS[int(raw["kind"])]
        spans = []
        for number in range(int(raw["binding_count"])):
            binding = self.rows("bindings")[int(raw["first_binding"]) + number]
            address = int(runner["regions"][int(binding["region"])]) + int(binding["offset"])
            spans.append((address, int(binding["length"])))
        if kind == "fill":
            return [_bytes("out0", spans[0], False)]
        if kind == "copy":
            return [_bytes("in0", spans[0], True), _bytes("out1", spans[1], False)]
        number = int(raw["export_index"])
        operands = self._dispatch(number, self._function(number))["operands"]
        return list(_operands(operands, spans))

    def _dispatch(self, ordinal: int, function: str) -> Report:
        if self.report is None:
            return {"operands": [], "source": ""}
        dispatch: Report = self.report["dispatches"][ordinal]
        if dispatch["name"] != function:
            raise gdb.GdbError(
                f"the report of {self.name} calls kernel {ordinal} {dispatch['name']}, the image"
                f" {function}: they are from different builds"
            )
        return dispatch


def _bytes(name: str, span: tuple[int, int], reads: bool) -> Tensor:
    address, length = span
    return Tensor(name, "u8", (length,), address, reads, not reads, True)


def _operands(operands: list[Report], spans: list[tuple[int, int]]) -> Iterator[Tensor]:
    taken: set[str] = set()
    for operand in operands:
        name = f"{'out' if operand['writes'] else 'in'}{operand['binding']}"
        while name in taken:  # several tensors in one binding
            name += "_"
        taken.add(name)
        address, length = spans[operand["binding"]]
        dtype, shape, offset = operand["dtype"], operand["shape"], operand["offset"]
        size = npy.item_bytes(dtype)
        if not size:
            dtype, shape, size = "u8", None, 1
        is_placed = shape is not None and offset is not None
        if not is_placed:
            shape, offset = (length // size,), 0
        if offset + math.prod(shape) * size > length:
            raise gdb.GdbError(f"{name} does not fit its binding: report and image do not match")
        reads, writes = operand["reads"], operand["writes"]
        yield Tensor(name, dtype, tuple(shape), address + offset, reads, writes, is_placed)


def of_value(value: gdb.Value, reports: dict[str, Report]) -> Plan:
    """Returns the plan that a bm_plan_t is, with its report if there is one."""
    plan = Plan(value, None)
    plan.report = reports.get(plan.name)
    return plan


def of_image(reports: dict[str, Report]) -> list[Plan]:
    """Returns the plans in the image's table of models; none if it has no such table."""
    try:
        count = int(gdb.parse_and_eval("bm_firmware_model_count"))
    except gdb.error:
        return []
    plans = []
    for index in range(count):
        value = gdb.parse_and_eval(f"*bm_firmware_models[{index}].plan")
        plans.append(of_value(value, reports))
    return plans
