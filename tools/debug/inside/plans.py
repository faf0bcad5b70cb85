"""The plans of an image as the debugger sees them: commands and the tensors in memory they use.

Runs inside gdb. Shapes and element types, which plan.h does not have, come from each model's
report.json.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gdb

from tools.debug import npy

KINDS = ("dispatch", "fill", "copy")
REGIONS = ("arena", "weights", "state")
# bm_dtype_t (runtime_bm/base/dtype.h).
DTYPES = (
    "?", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64",
)  # fmt: skip

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
        self.report = report
        self.name: str = value["name"].string()
        self.command_count = int(value["command_count"])
        self.reset_count = int(value["reset_count"])

    def command(self, index: int) -> Command:
        raw = self.value["commands"][index]
        kind = KINDS[int(raw["kind"])]
        ordinal = int(raw["ordinal"])
        groups = tuple(int(raw["workgroup_count"][axis]) for axis in range(3))
        if kind != "dispatch":
            return Command(index, kind, "", "", groups)
        function = self.value["exports"][ordinal]["name"].string()
        return Command(index, kind, function, self._dispatch(ordinal, function)["source"], groups)

    def kernels(self, runner: gdb.Value) -> list[tuple[int, str]]:
        """Returns the address of every kernel, and its name if it is linked."""
        exports, functions = self.value["exports"], runner["functions"]
        return [
            (int(functions[i]), f"{self.name}_k_{exports[i]['name'].string()}")
            for i in range(int(self.value["export_count"]))
        ]

    def tensors(self, runner: gdb.Value, index: int) -> list[Tensor]:
        """Returns the operands of a command, with the addresses they have in this run.

        Args:
          runner: the bm_plan_runner_t that runs it.
        """
        raw = self.value["commands"][index]
        kind = KINDS[int(raw["kind"])]
        spans = []
        for number in range(int(raw["binding_count"])):
            binding = self.value["bindings"][int(raw["first_binding"]) + number]
            address = int(runner["regions"][int(binding["region"])]) + int(binding["offset"])
            spans.append((address, int(binding["length"])))
        if kind == "fill":
            return [_bytes("out0", spans[0], False)]
        if kind == "copy":
            return [_bytes("in0", spans[0], True), _bytes("out1", spans[1], False)]
        function = self.value["exports"][int(raw["ordinal"])]["name"].string()
        return list(_operands(self._dispatch(int(raw["ordinal"]), function)["operands"], spans))

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


def of_image(reports: dict[str, Report]) -> list[Plan]:
    """Returns the plans in the image's table of models; none if it has no such table."""
    try:
        count = int(gdb.parse_and_eval("bm_firmware_model_count"))
    except gdb.error:
        return []
    plans = []
    for index in range(count):
        value = gdb.parse_and_eval(f"*bm_firmware_models[{index}].plan")
        plans.append(Plan(value, reports.get(value["name"].string())))
    return plans
