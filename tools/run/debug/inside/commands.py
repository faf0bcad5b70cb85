"""gdb's `ironcast` commands, loaded by tools/run/debug/debug.py.

ironcast plan [MODEL]                    lists the commands of a model's plan
ironcast stop [N] [CALL] [MODEL]         runs to command N (default: the first dispatch) of call CALL
ironcast dump DIR                        saves the current command's inputs and outputs as .npy
ironcast trace DIR FIRST LAST [MODEL]    saves the outputs of every dispatch of these calls
"""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import gdb

from tools.run.debug.inside import printers, running
from tools.run.debug.inside.running import Position, Program
from tools.run.decode_status import decode


def permit_breakpoints() -> None:
    """Keeps an image that has not started from comparing its instructions with their checks.

    A breakpoint may be an instruction written into memory, which the checks would call damage.
    """
    # In flash it cannot be changed, but there a breakpoint is in the hart.
    with contextlib.suppress(gdb.error):
        gdb.execute("set variable *(unsigned int *)&bm_image_check_count = 0")


def setup(reports: list[str], status_h: str) -> None:
    """Defines the commands and the pretty-printers.

    Args:
      reports: report.json of every model in the image.
      status_h: runtime_bm/base/status.h.
    """
    read = [json.loads(Path(path).read_text()) for path in reports]
    program = Program({report["name"]: report for report in read})
    printers.register(decode.read_tables(Path(status_h).read_text()), program.plans)
    gdb.Command("ironcast", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)
    for name, action in (("plan", plan), ("stop", stop), ("dump", dump), ("trace", trace)):
        _define(name, action, program)


def leave() -> None:
    """Ends the program."""
    # An emulator closes the connection instead of answering.
    with contextlib.suppress(gdb.error):
        if gdb.selected_inferior().threads():
            gdb.execute("kill")


def _define(name: str, action: Callable[[Program, list[str]], None], program: Program) -> None:
    class Defined(gdb.Command):
        __doc__ = action.__doc__

        def invoke(self, argument: str, _from_tty: bool) -> None:
            action(program, gdb.string_to_argv(argument))

    Defined(f"ironcast {name}", gdb.COMMAND_RUNNING)


def plan(program: Program, arguments: list[str]) -> None:
    """ironcast plan [MODEL]: lists the commands of a model's plan."""
    shown = program.plan(_word(arguments, 0))
    for index in range(shown.command_count):
        print(shown.command(index).describe())


def stop(program: Program, arguments: list[str]) -> None:
    """ironcast stop [N] [CALL] [MODEL]: runs to just before command N of the plan in call CALL.

    Without N, runs to the first dispatch. Calls of the model count from 0. Sets $plan, its tables
    ($commands, $bindings, $inputs, $outputs) and a pointer to every tensor of the command:
    `print *$in0`.
    """
    if not program.plans():
        program.go(running.address("main"))
        print("The image has no model; stopped at main.")
        return
    shown = program.plan(_word(arguments, 2))
    wanted = _number(arguments, 0, "N")
    number = _number(arguments, 1, "CALL") or 0
    if wanted is not None and wanted >= shown.command_count:
        raise gdb.GdbError(
            f"{shown.name} has commands 0 to {shown.command_count - 1}: `ironcast plan` lists them"
        )
    call = program.next_call(shown)
    while call.number < number:
        call = program.next_call(shown)
    if call.number != number:
        raise gdb.GdbError(f"call {number} is over, this is call {call.number}: start again")
    for position in program.commands(call):
        command = position.command
        if position.index == wanted or (wanted is None and command.kind == "dispatch"):
            if command.kind == "dispatch":
                program.to_kernel(position)
            about = f"Before {command.describe()} (call {number}, {call.entry})"
            print(textwrap.fill(about, 100, subsequent_indent="  ", break_long_words=False))
            gdb.set_convenience_variable("plan", shown.value.address)
            for table in ("commands", "bindings", "inputs", "outputs"):
                if shown.count(table):
                    gdb.set_convenience_variable(table, shown.rows(table))
            for tensor in position.tensors:
                gdb.set_convenience_variable(tensor.name, printers.pointer(tensor))
                print(f"  {tensor.describe()}")
            return
    what = "a dispatch" if wanted is None else f"command {wanted}"
    raise gdb.GdbError(f"call {number} of {shown.name}, of {call.entry}, did not run {what}")


def dump(program: Program, arguments: list[str]) -> None:
    """ironcast dump DIR: saves the current command's inputs, runs it, and saves its outputs."""
    folder = _folder(arguments)
    here = program.position()
    tensors = here.tensors
    stem = f"{here.index:03d}_{here.command.function or here.command.kind}"
    for tensor in tensors:
        if not tensor.writes:
            _save(tensor, folder / f"{stem}.{tensor.name}.npy")
        elif tensor.reads:
            _save(tensor, folder / f"{stem}.{tensor.name}.before.npy")
    program.finish_command()
    for tensor in tensors:
        if tensor.writes:
            _save(tensor, folder / f"{stem}.{tensor.name}.npy")


def trace(program: Program, arguments: list[str]) -> None:
    """ironcast trace DIR FIRST LAST [MODEL]: saves the outputs of every dispatch of these calls."""
    folder = _folder(arguments)
    first, last = _number(arguments, 1, "FIRST") or 0, _number(arguments, 2, "LAST") or 0
    shown = program.plan(_word(arguments, 3))
    steps: list[dict[str, object]] = []
    call = program.next_call(shown)
    while True:
        if call.number >= first:
            program.clear_arena(call)
            for position in program.commands(call):
                if position.command.kind == "dispatch":
                    steps.append(_step(program, position, call.number, folder, len(steps)))
        if call.number == last:
            break
        call = program.next_call(shown)
    (folder / "trace.json").write_text(json.dumps(steps, indent=1))


def _step(
    program: Program, position: Position, call: int, folder: Path, number: int
) -> dict[str, object]:
    outputs = {}
    written = [tensor for tensor in position.tensors if tensor.writes and tensor.is_placed]
    for tensor in written:
        stem = f"{number:06d}.{tensor.name}"
        before, after = f"{stem}.before.npy", f"{stem}.npy"
        tensor.save(folder / before)
        outputs[tensor.name] = {"dtype": tensor.dtype, "before": before, "after": after}
    program.finish_command()
    for tensor in written:
        tensor.save(folder / outputs[tensor.name]["after"])
    function = position.command.function
    return {"call": call, "command": position.index, "function": function, "outputs": outputs}


def _save(tensor: running.plans.Tensor, path: Path) -> None:
    tensor.save(path)
    print(f"  {tensor.describe()} -> {path.name}")


def _folder(arguments: list[str]) -> Path:
    if not arguments:
        raise gdb.GdbError("name the folder to write to")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _word(arguments: list[str], index: int) -> str:
    return arguments[index] if index < len(arguments) else ""


def _number(arguments: list[str], index: int, what: str) -> int | None:
    word = _word(arguments, index)
    if word in ("", "-"):
        return None
    if not word.isdigit():
        raise gdb.GdbError(f"{what} is '{word}': give a number")
    return int(word)
