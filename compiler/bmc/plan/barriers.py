"""Decides which commands wait for all before them, so that several harts may run the others side by side."""

from __future__ import annotations

from dataclasses import replace

from bmc.plan import check
from bmc.plan.tables import Command, Plan


def with_barriers(model: Plan) -> Plan:
    """Returns the plan in which a command has a barrier only if it depends on one since the barrier before it.

    The runtime proves that no others were needed (bm_plan_verify). The first command of an entry point has a barrier.
    Where drivers move bindings, every command has one, because nobody knows at build time what they will share.
    """
    if any(command.patches for command in model.commands):
        return replace(model, commands=tuple(replace(c, barrier=True) for c in model.commands))
    firsts = {0, model.reset_count, *(entry.first_command for entry in model.entries)}
    commands: list[Command] = []
    # Those that may still be running.
    running: list[Command] = []
    for number, command in enumerate(model.commands):
        barrier = number in firsts or any(check.depends(command, other) for other in running)
        running = [command] if barrier else [*running, command]
        commands.append(replace(command, barrier=barrier))
    return replace(model, commands=tuple(commands))
