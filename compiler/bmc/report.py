"""The report of a model, report.json: what was built, from what, how large; no times, no absolute paths.

A text beside a field says what it holds. The JSON Schema of reports is made of these (tools/report/report_schema.py).
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

FORMAT_VERSION: Final = 7

Sha256 = Annotated[str, ("pattern", "^[0-9a-f]{64}$")]
Tiles = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Flash:
    """Bytes of the model's own parts."""

    kernels_bytes: Annotated[int, "Kernels with their constants."]
    kernels_text_bytes: Annotated[int, "Their code alone."]
    kernels_elf_bytes: Annotated[int, "The ELF they come from."]
    weights_bytes: Annotated[int, "Weights, aligned."]
    weights_distinct_bytes: Annotated[int, "Weights without alignment, equal ones once."]
    golden_bytes: Annotated[int, "Inputs and expected outputs."]
    plan_bytes: Annotated[int, "Header, tables and strings of the plan."]


@dataclass(frozen=True)
class Arena:
    """The arena."""

    bytes: Annotated[int, "Its size."]
    liveness_bound_bytes: Annotated[
        int, "The least that any plan with this order of commands could do with."
    ]
    input_bytes: Annotated[int, "Of all inputs."]
    output_bytes: Annotated[int, "Of all outputs."]


@dataclass(frozen=True)
class Tensor:
    """An input or an output."""

    name: Annotated[str, "As the framework names it."]
    dtype: Annotated[str, "Element type, such as f32."]
    shape: Annotated[tuple[int, ...], "Extents."]
    offset: Annotated[int, "First byte in the arena."]
    bytes: Annotated[int, "Its size."]


@dataclass(frozen=True)
class Life:
    """A tensor, alive in the commands [first_command, end_command)."""

    region: Annotated[Literal["arena", "fast"], "Where it lies: in the arena, or in fast memory."]
    offset: Annotated[int, "First byte there."]
    bytes: Annotated[int, "Its size, without alignment."]
    first_command: Annotated[int, "Index of the first command during which it is alive."]
    end_command: Annotated[
        int,
        "Index of the first command during which it is not; one more than that behind the entry point's last for what "
        "is read after all.",
    ]


@dataclass(frozen=True)
class Entry:
    """An entry point."""

    name: Annotated[str, "As exported."]
    first_command: Annotated[int, "Index of its first command."]
    command_count: Annotated[int, "How many are its own."]
    driver: Annotated[bool, "Whether generated C decides at run time which commands run."]
    inputs: Annotated[tuple[Tensor, ...], "In the order of the signature."]
    outputs: Annotated[tuple[Tensor, ...], "In the order of the signature."]
    tensors: Annotated[
        tuple[Life, ...], "Place and life of every tensor in the arena, the inputs first."
    ]


@dataclass(frozen=True)
class Written:
    """A part of each row of a tensor."""

    length: Annotated[int, "Bytes of all rows."]
    row: Annotated[int, "Bytes of a row."]
    first: Annotated[int, "First byte of a row that is written."]
    end: Annotated[int, "Byte behind the last one."]


@dataclass(frozen=True)
class Operand:
    """A tensor that a kernel reads or writes."""

    binding: Annotated[int, "Number of its binding."]
    offset: Annotated[
        int | None, "Bytes from the start of the binding; null if only the target knows."
    ]
    dtype: Annotated[str, "MLIR's name of the element type."]
    shape: Annotated[tuple[int, ...] | None, "Extents; null if only the target knows."]
    reads: Annotated[bool, "Whether the kernel reads it."]
    writes: Annotated[bool, "Whether the kernel writes it."]
    overwrites: Annotated[
        Written | None,
        "Bytes that the kernel certainly writes without reading the tensor: [first, end) of each row; null if unknown.",
    ]
    alignment: Annotated[int, "The start of the binding is a multiple of this."]


@dataclass(frozen=True)
class Call:
    """The function of a kernel library."""

    library: Annotated[str, "The library's label."]
    function: Annotated[str, "The function's name."]
    wait: Annotated[
        str, "The function that waits until the call is done; empty if it is when it returns."
    ]

    def __str__(self) -> str:
        return f"{self.function} of {self.library}"


@dataclass(frozen=True)
class Proposal:
    """A proposal."""

    entry: Annotated[dict[str, Any], "The entry."]
    cost: Annotated[int, "Estimated instructions."]


@dataclass(frozen=True)
class Dispatch:
    """A kernel."""

    ordinal: Annotated[int, "Its number."]
    name: Annotated[str, "The dispatch function."]
    op: Annotated[str, "What it computes: operation, extents and element types."]
    bindings: Annotated[int, "How many bindings it takes."]
    constants: Annotated[int, "How many push constants it takes."]
    uses: Annotated[int, "Commands that start it."]
    source: Annotated[str, "The place in the model that it was made of; empty if unknown."]
    address: Annotated[int, "Of its code in kernels.elf."]
    macs: Annotated[int, "Multiply-accumulates of one run."]
    accumulator: Annotated[str, "MLIR's type of their sums; empty without any."]
    operands: Annotated[tuple[Operand, ...], "What it reads and writes."]
    root: Annotated[str, "The operation that the tile sizes belong to."]
    tiles: Annotated[
        Tiles,
        "Tile sizes that it was compiled with, by level; with `own_kernel`, those it would have.",
    ]
    iree_tiles: Annotated[Tiles, "IREE's choice."]
    tiles_by: Annotated[str, "Who chose the tile sizes.", ("enum", ("iree", "bmc", "tuning"))]
    own_kernel: Annotated[bool, "Whether it is a kernel of bmc's own."]
    call: Annotated[
        Call | None, "The function of a kernel library that takes its place; else null."
    ]
    tuned: Annotated[bool, "Whether tuning.json has an entry for it."]
    digest: Annotated[str, "Stands for its kernel without tuning.json."]
    stale: Annotated[bool, "Whether that entry was made instead of another kernel."]
    proposals: Annotated[
        tuple[Proposal, ...] | None, "Only for a search: entries of tuning.json worth trying."
    ] = None
    replaceable: Annotated[
        bool | None, "Only for a search: whether IREE's kernel may take its place."
    ] = None
    modeled_cycles: Annotated[
        int | None,
        "Of one run of a kernel of bmc's own for one hart, on the core that it was chosen for; else null.",
    ] = None


@dataclass(frozen=True)
class Binding:
    """A range of bytes that a command uses."""

    region: Annotated[str, "Where the bytes are.", ("enum", ("arena", "weights", "state", "fast"))]
    offset: Annotated[int, "First byte in the region; of its storage if a driver moves it."]
    bytes: Annotated[int, "Its size."]
    reads: Annotated[bool, "Whether the command reads it."]
    writes: Annotated[bool, "Whether the command writes it."]


@dataclass(frozen=True)
class Command:
    """A command of the plan."""

    kind: Annotated[str, "What it does.", ("enum", ("dispatch", "fill", "copy"))]
    function: Annotated[str, "The kernel of a dispatch; else empty."]
    ordinal: Annotated[int, "Of the kernel in `dispatches`; 0 if there is none."]
    workgroups: Annotated[tuple[int, int, int], "How many in x, y and z."]
    bytes: Annotated[int, "Sum of its bindings' sizes."]
    layer: Annotated[str, "The model's layer, as the framework names it; empty if unknown."]
    bindings: Annotated[tuple[Binding, ...], "In the order of the kernel's."]

    @property
    def label(self) -> str:
        """What to call it, in short."""
        return self.layer or self.function or self.kind


@dataclass(frozen=True)
class Weight:
    """A constant."""

    name: Annotated[str, "In the host program."]
    framework_name: Annotated[str, "The framework's parameter with the same bytes; else empty."]
    dtype: Annotated[str, "MLIR's element type."]
    shape: Annotated[tuple[int, ...], "As stored; empty if unknown."]
    permuted: Annotated[
        tuple[int, ...], "The permutation from the framework's layout; empty without."
    ]
    where: Annotated[str, "What reads it in the model; empty if unknown."]
    offset: Annotated[int, "First byte in the weights; equal constants share it."]
    length: Annotated[int, "Its bytes."]
    sha256: Annotated[Sha256, "Of its bytes."]
    initial: Annotated[bool, "Only a state begins with it."]
    is_widened: Annotated[bool, "Whether its numbers are int8 in 16 bits."]


@dataclass(frozen=True)
class Exact:
    """An output is the same, bit for bit."""

    kind: Annotated[Literal["Exact"], "Which rule."]


@dataclass(frozen=True)
class Tolerance:
    """An output is close."""

    kind: Annotated[Literal["Tolerance"], "Which rule."]
    atol: Annotated[float, "Absolute tolerance."]
    rtol: Annotated[float, "Relative tolerance."]
    min_cosine: Annotated[float | None, "Least cosine, or null."]


@dataclass(frozen=True)
class IntStep:
    """A few integers of an output may be a little off."""

    kind: Annotated[Literal["IntStep"], "Which rule."]
    max_step: Annotated[int, "Largest difference of an element."]
    max_differing: Annotated[int, "Most elements that differ."]


# How an output is compared.
Policy = Exact | Tolerance | IntStep


@dataclass(frozen=True)
class Golden:
    """The expected outputs."""

    source: Annotated[str, "Who computed them."]
    second_reference: Annotated[str, "What compared the import with the framework."]
    cases: Annotated[int, "How many."]
    policies: Annotated[
        tuple[Policy, ...], "How outputs are compared: one for each output, or one for all."
    ]
    labels: Annotated[bool, "Whether cases have the right answers."]
    framework_correct: Annotated[int, "Of these, how many the framework gets right."]


@dataclass(frozen=True)
class Int8:
    """Integers in an int8 model."""

    integer_dispatches: Annotated[tuple[str, ...], "Kernels that add up integers."]
    float_parts: Annotated[dict[str, str], "Reasons for what is in floating point."]
    int8_weight_bytes: Annotated[int, "Weights in int8, also in 16 bits."]
    note: Annotated[str, "Why int8 gains little over f32, where it does; else empty."]
    other_weight_bytes: Annotated[int, "Other weights."]


@dataclass(frozen=True)
class Code:
    """A kernel's code."""

    hot_loop: Annotated[
        tuple[str, ...],
        "Disassembly of the innermost loop with the most vector multiply-adds, else of the longest: "
        "`address: name operands`.",
    ]
    scalar_products: Annotated[
        tuple[str, ...], "Names of instructions that multiply single numbers in innermost loops."
    ]
    spills: Annotated[int, "Instructions that store vectors to the stack or load them from there."]
    vectorized: Annotated[bool, "Whether its sums of products are made of vectors."]


@dataclass(frozen=True)
class Model:
    """The compiler's report of a model."""

    format_version: Annotated[Literal[7], "Of this format."]
    name: Annotated[str, "Of the model."]
    source: Annotated[str, "The file or factory it comes from."]
    frontend: Annotated[str, "What imported it."]
    isa: Annotated[str, "Instruction set of the kernels."]
    vlen_bits: Annotated[int, "Least VLEN in bits; 0 without vectors."]
    flash: Annotated[Flash, "Bytes of the model's own parts."]
    arena: Annotated[Arena, "The arena."]
    state_bytes: Annotated[int, "Kept from run to run."]
    fast_bytes: Annotated[int, "Fast memory, for tensors and copies of weights."]
    ram_bytes: Annotated[
        int,
        "What the model itself needs besides fast memory, which `ram` bounds: the arena, its state, and the most "
        "scratch memory of one of bmc's own kernels, on the stack of each hart.",
    ]
    macs: Annotated[dict[str, int], "Multiply-accumulates by entry point."]
    parameters: Annotated[int, "Numbers in the framework's weights."]
    entries: Annotated[tuple[Entry, ...], "The entry points."]
    classes: Annotated[
        tuple[str, ...], "Names of a classifier's classes. Its label is the place of one of them."
    ]
    planes: Annotated[int, "Shapes of convolutions that have planes as results."]
    dispatches: Annotated[tuple[Dispatch, ...], "The kernels."]
    commands: Annotated[tuple[Command, ...], "The plan's commands, those that reset states first."]
    weights: Annotated[tuple[Weight, ...], "The constants."]
    golden: Annotated[Golden, "The expected outputs."]
    int8: Annotated[Int8 | None, "Integers in an int8 model; null for others."]
    kernels_library: Annotated[int, "Offset of the kernels' table in their bytes."]
    kernels_arch: Annotated[str, "Their ELF's architecture string; empty if it has none."]
    iree_flags: Annotated[tuple[str, ...], "Of iree-compile."]
    versions: Annotated[dict[str, str], "Versions of the packages that made it."]
    sha256: Annotated[dict[str, Sha256], "Of the imported model and of each output file."]
    code: Annotated[
        dict[str, Code] | None,
        "By kernel: what its disassembly shows. Only the file of X.report has it; empty without vectors.",
    ] = None
