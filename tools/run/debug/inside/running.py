"""Runs the image from one known place to the next: calls of a model, commands of its plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import gdb

from tools.run.debug.inside import loaded, plans
from tools.run.debug.inside.plans import Command, Plan

_BEFORE = "bm_plan_before_command"
_AFTER = "bm_plan_after_command"
_CALL = "bm_model_run"


@dataclasses.dataclass(frozen=True)
class Position:
    """Where the program is stopped: command `index` of a plan that `runner` runs."""

    plan: Plan
    runner: gdb.Value
    index: int

    @property
    def command(self) -> Command:
        return self.plan.command(self.index)

    @property
    def tensors(self) -> list[plans.Tensor]:
        return self.plan.tensors(self.runner, self.index)


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of bm_model_run that has just begun; `model` is its bm_model_t, `end` is where it returns to."""

    number: int
    plan: Plan
    model: gdb.Value
    end: int

    @property
    def entry(self) -> str:
        return self.plan.string(self.model["entry"]["name"])


class Program:
    """The program being debugged, stopped before its first instruction or anywhere later."""

    def __init__(self, reports: dict[str, plans.Report]) -> None:
        self._reports = reports
        self._calls = 0
        self._loaded = loaded.Kernels()
        loaded.register(self._loaded)

    def plans(self) -> list[Plan]:
        return plans.of_image(self._reports)

    def plan(self, name: str) -> Plan:
        """Returns a model's plan, or the first one for ""; raises gdb.GdbError."""
        known = self.plans()
        for plan in known:
            if name in ("", plan.name):
                return plan
        names = ", ".join(plan.name for plan in known) or "none"
        raise gdb.GdbError(f"the image has no model {name}; its models: {names}")

    def position(self) -> Position:
        """Returns the selected thread's place; raises gdb.GdbError when no plan is running."""
        frame: gdb.Frame | None = gdb.newest_frame()
        while frame is not None and frame.name() != "bm_plan_run":
            frame = frame.older()
        if frame is None:
            raise gdb.GdbError("no model is running here: `ironcast stop N` goes to command N")
        runner = frame.read_var("runner").dereference()
        plan = plans.of_value(runner["plan"].dereference(), self._reports)
        return Position(plan, runner, int(frame.read_var("index")))

    def go(self, *places: int) -> int:
        """Runs to the first of these addresses and returns it; raises gdb.GdbError if it stops elsewhere."""
        stops = [
            gdb.Breakpoint(f"*{place:#x}", gdb.BP_BREAKPOINT, internal=True) for place in places
        ]
        for stop in stops:
            stop.silent = True
        try:
            gdb.execute("continue", to_string=True)
        except gdb.error:
            # An emulator that has ended closes the connection.
            if gdb.selected_inferior().threads():
                raise
        finally:
            for stop in stops:
                stop.delete()
        if not gdb.selected_inferior().threads():
            raise gdb.GdbError("the program ended before it got there")
        here = gdb.newest_frame().pc()
        if here not in places:
            raise gdb.GdbError(f"the program stopped at {here:#x} before it got there")
        return here

    def next_call(self, plan: Plan) -> Call:
        """Runs to the next call of the model; calls count from 0."""
        while True:
            self.go(address(_CALL))
            register = "a0" if "riscv" in gdb.newest_frame().architecture().name() else "rdi"
            model = gdb.parse_and_eval(f"*(bm_model_t *)${register}")
            if int(model["runner"]["plan"]) == int(plan.value.address):
                break
        kernels = plan.kernels(model["runner"])
        if kernels and not self._loaded.at(kernels[0][0]):
            executable = plan.value["executables"].dereference()
            if int(executable["elf"]):
                self._loaded.add(kernels, int(executable["elf_bytes"]))
        self._calls += 1
        return Call(self._calls - 1, plan, model, gdb.newest_frame().older().pc())

    def clear_arena(self, call: Call) -> None:
        """Clears the arena except for the inputs of a call, so that nothing is left of earlier calls.

        A call may read only what it wrote, so this changes no result.
        """
        plan, entry = call.plan, call.model["entry"]
        inputs = [
            plan.rows("inputs")[int(entry["first_input"]) + i]
            for i in range(int(entry["input_count"]))
        ]
        spans = sorted((int(t["offset"]), int(t["offset"]) + int(t["length"])) for t in inputs)
        arena, start = int(call.model["runner"]["regions"][0]), 0
        for first, end in [*spans, (int(plan.header["arena_bytes"]),) * 2]:
            if first > start:
                gdb.selected_inferior().write_memory(arena + start, bytes(first - start))
            start = max(start, end)

    def commands(self, call: Call) -> Iterator[Position]:
        """Yields every command of a call just before it runs."""
        while self.go(address(_BEFORE), call.end) != call.end:
            yield self.position()

    def to_kernel(self, position: Position) -> None:
        """Runs from just before a dispatch to the first instruction of its kernel."""
        number = int(position.plan.rows("commands")[position.index]["export_index"])
        self.go(int(position.runner["functions"][number]))

    def finish_command(self) -> None:
        """Runs the next or current command to its end."""
        self.go(address(_AFTER))


def address(symbol: str) -> int:
    """Returns the address of a symbol; raises gdb.GdbError when the image does not have it."""
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&{symbol}"))
    except gdb.error:
        raise gdb.GdbError(f"the image has no {symbol}: it runs no model") from None
