"""The report of an image, X.report.json: sizes from the link map, instructions from a recorded run.

The format has the version that `models[].format_version` names. A text beside a field says what it holds; the fields of
a model are in compiler/bmc/report.py. Sizes are in the order of their names, in which they are printed.
"""

from dataclasses import dataclass
from typing import Annotated

from bmc.report import Model


@dataclass(frozen=True)
class Flash:
    """Bytes in the image by part."""

    application: Annotated[
        int, "Bytes: the self-check with its console output, or the user's program."
    ]
    board: Annotated[int, "Bytes: drivers."]
    golden: Annotated[int, "Bytes: inputs and expected outputs of the self-check."]
    kernels: Annotated[int, "Bytes: the compiled dispatches with their constants."]
    other: Annotated[int, "Bytes: what belongs to none of these."]
    padding: Annotated[int, "Bytes: gaps for alignment."]
    plan: Annotated[int, "Bytes: the tables that say which kernel runs on which bytes."]
    runtime: Annotated[int, "Bytes: what walks the plan, checks it and reports errors."]
    total: Annotated[int, "Bytes: the sum of all parts."]
    weights: Annotated[int, "Bytes: the models' constants."]


@dataclass(frozen=True)
class Ram:
    """Bytes of RAM by use."""

    arena: Annotated[int, "Bytes of inputs, outputs and everything between; the models share them."]
    bss: Annotated[int, "Bytes of other variables of C without a value at start."]
    data: Annotated[int, "Bytes of other variables of C with a value at start."]
    fast: Annotated[int, "Bytes of fast memory for tensors and copies of weights."]
    stack: Annotated[int, "Bytes that the board reserves for the stack."]
    state: Annotated[int, "Bytes that models keep from run to run."]
    total: Annotated[int, "The sum of all uses."]


@dataclass(frozen=True)
class Memory:
    """A memory."""

    name: Annotated[str, "As in board.json."]
    length: Annotated[int, "Its bytes."]
    used: Annotated[int, "Bytes of it that the image takes."]


@dataclass(frozen=True)
class Counted:
    """A command that ran."""

    index: Annotated[int, "Of the command in the model's `commands`."]
    instructions: Annotated[int, "Instructions of all its runs together, with those that start it."]
    times: Annotated[int, "How often it ran in one inference."]


@dataclass(frozen=True)
class Ran(Counted):
    """A command that ran."""

    cycles: Annotated[
        int | None, "Only on hardware or on its design in gates: cycles of all its runs together."
    ] = None
    busy: Annotated[
        int | None,
        "Only with devices: their cycles in which they worked for it. The hart waited for them after each command.",
    ] = None
    waited: Annotated[
        int | None,
        "Only with devices: instructions that only waited for them, which `instructions` does not count.",
    ] = None


@dataclass(frozen=True)
class Plain:
    """What a model takes without its kernel libraries."""

    commands: Annotated[tuple[Counted, ...], "The same commands, as above."]
    instructions: Annotated[int, "Of one inference."]


@dataclass(frozen=True)
class Devices:
    """What devices did."""

    busy: Annotated[int, "Their cycles in which they worked."]
    waited: Annotated[
        int, "Instructions of the hart that only waited for them; `instructions` counts them."
    ]


@dataclass(frozen=True)
class Stretch:
    """The commands between two barriers."""

    barrier: Annotated[int, "Of the barrier behind it."]
    commands: Annotated[tuple[Annotated[int, "Of the command."], ...], "In the model's `commands`."]
    work: Annotated[
        tuple[Annotated[int, "Of a hart."], ...], "The share of each hart, without waiting."
    ]


@dataclass(frozen=True)
class Harts:
    """What several harts did side by side, in instructions."""

    barriers: Annotated[int, "What the last hart to come spends in all barriers."]
    count: Annotated[int, "How many harts.", ("minimum", 2)]
    critical: Annotated[int, "The longest share of every stretch, and the barriers."]
    stretches: Annotated[tuple[Stretch, ...], "What runs between barriers, in order."]
    work: Annotated[tuple[Annotated[int, "Of a hart."], ...], "The shares of each hart together."]


@dataclass(frozen=True)
class Accuracy:
    """Right answers."""

    correct: Annotated[int, "Cases that the target gets right."]
    framework: Annotated[int, "Cases that the framework gets right."]
    total: Annotated[int, "All cases with a label."]


@dataclass(frozen=True)
class Inference:
    """A model in the run."""

    name: Annotated[str, "Of the model."]
    instructions: Annotated[
        int,
        "Of one inference, without counting single commands; on several harts, of the critical path.",
    ]
    commands: Annotated[tuple[Ran, ...], "The commands that ran."]
    cycles: Annotated[
        int | None, "Of one inference, on hardware or on its design in gates; else null."
    ]
    devices: Annotated[
        Devices | None,
        "What devices did in the inference, in which commands ran beside them; null without devices.",
    ]
    harts: Annotated[
        Harts | None, "What several harts did side by side, in instructions; null on one hart."
    ]
    plain: Annotated[
        Plain | None,
        "What the model takes without its kernel libraries; null for one without libraries.",
    ]
    walker_instructions_per_dispatch: Annotated[
        int | None,
        "Instructions that the runtime takes to start a kernel; null without dispatches.",
    ]
    accuracy: Annotated[Accuracy | None, "Right answers, for cases with labels; else null."]
    differing: Annotated[int, "Elements of all outputs that differ from the framework's."]
    max_abs: Annotated[float, "Largest difference of an element from the framework's."]


@dataclass(frozen=True)
class Run:
    """A recorded run of the same models with counters."""

    boot: Annotated[dict[str, str], "What the image printed first, as text: board, isa, vlen."]
    clocks: Annotated[
        tuple[str, ...], "For each model of devices in the machine, what its cycles are."
    ]
    cycles_of: Annotated[
        str, "The hardware whose cycles were counted; empty on an emulator, which has none."
    ]
    instructions: Annotated[int, "Instructions of one inference of each model, added up."]
    stack_bytes: Annotated[int, "Most bytes of the stack that were in use."]
    models: Annotated[
        tuple[Inference, ...], "A row for each model, in the order of `models` above."
    ]

    @property
    def vlen(self) -> int:
        """VLEN in bits, 0 without vectors."""
        return int(self.boot["vlen"])


@dataclass(frozen=True)
class Image:
    """X.report.json of Ironcast: sizes from the link map, instructions from a recorded run.

    The format has the version that `models[].format_version` names.
    """

    board: Annotated[str, "Name of the board."]
    flash_bytes: Annotated[Flash, "Bytes in the image by part."]
    ram_bytes: Annotated[Ram, "Bytes of RAM by use."]
    memory: Annotated[tuple[Memory, ...], "The memories of the board."]
    text_bytes: Annotated[
        dict[str, int], "Bytes of code outside kernels (.text) by part, as in flash_bytes."
    ]
    models: Annotated[tuple[Model, ...], "The models in the image.", ("minItems", 1)]
    run: Annotated[
        Run | None,
        "A recorded run of the same models with counters. Only the file of X.report has it.",
    ] = None

    @property
    def recorded(self) -> Run:
        """The run, of a report that has one."""
        assert self.run is not None
        return self.run

    @property
    def inferences(self) -> list[tuple[Model, Inference]]:
        """Each model with what it took in the run, of a report that has one."""
        return list(zip(self.models, self.recorded.models, strict=True))
