"""Turns the host program into commands, and into drivers where it has control flow."""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir

from bmc.artifacts import Signature
from bmc.errors import BmcError
from bmc.host import control, inplace
from bmc.host.call import Call
from bmc.host.hal import Hal
from bmc.host.program import HalCommand, HostFunction, HostProgram, State
from bmc.host.vm import VirtualMachine
from bmc.ir import ir_util
from bmc.rewrites.model_context import RESET, States


def run(vm_module: Path, signatures: tuple[Signature, ...], states: States) -> HostProgram:
    """Executes `__init` and every entry point of a VM module.

    Args:
      vm_module: bytecode of a module in the VM dialect.
      signatures: the entry points with their inputs and outputs.
      states: the model's states, which entry points take and return in addition.

    Raises:
      BmcError: the program does something that tables and C cannot express; the error names it.
    """
    with ir.Context():
        hal = Hal()
        machine = VirtualMachine(ir_util.read(vm_module), hal.imports())
        hal.layer = machine.layer
        if machine.defines("__init"):  # absent if the model has neither kernels nor weights
            machine.call("__init", ())
        entries = []
        for signature in signatures:
            try:
                entries.append(_entry(signature, hal, machine, states))
            except BmcError as error:
                if len(signatures) > 1:
                    error.where = error.where or signature.name
                raise
        reset: tuple[HalCommand, ...] = ()
        if states.infos:
            reset = _entry(Signature(RESET, (), ()), hal, machine, states).commands
        return HostProgram(
            executable=hal.executable(),
            constants=tuple(hal.initial.constants),
            states=tuple(State(info.name, info.length) for info in states.infos),
            reset=reset,
            entries=tuple(entries),
        )


def _entry(signature: Signature, hal: Hal, machine: VirtualMachine, states: States) -> HostFunction:
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
