"""The host program becomes commands, and drivers where it has control flow."""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir

from bmc.artifacts import Signature
from bmc.host import control, inplace
from bmc.host.call import Call
from bmc.host.hal import Hal
from bmc.host.program import Command, Entry, HostProgram, State
from bmc.host.vm import VirtualMachine
from bmc.ir import ir_util
from bmc.rewrites.context import RESET, States


def run(vm_module: Path, signatures: tuple[Signature, ...], states: States) -> HostProgram:
    """Executes `__init` and every entry point of a VM module.

    Args:
      vm_module: bytecode of a module in the VM dialect.
      signatures: of the entry points.
      states: what they take and give besides.

    Raises:
      BmcError: naming what the program does that tables and C cannot express.
    """
    with ir.Context():
        hal = Hal()
        machine = VirtualMachine(ir_util.read(vm_module), hal.imports())
        if machine.defines("__init"):  # a model that launches and loads nothing has none
            machine.call("__init", ())
        entries = tuple(_entry(signature, hal, machine, states) for signature in signatures)
        reset: tuple[Command, ...] = ()
        if states.infos:
            reset = _entry(Signature(RESET, (), ()), hal, machine, states).commands
        return HostProgram(
            executable=hal.executable(),
            constants=tuple(hal.initial.constants),
            states=tuple(State(info.name, info.length) for info in states.infos),
            reset=reset,
            entries=entries,
        )


def _entry(signature: Signature, hal: Hal, machine: VirtualMachine, states: States) -> Entry:
    def begin() -> Call:
        call = Call(signature, states)
        hal.begin(call.recorder)
        return call

    entry, call = control.trace(machine, begin)
    new_states = [
        inplace.NewState(written, place)
        for written, place in zip(call.storage, call.places, strict=True)
    ]
    return inplace.merge(entry, new_states)
