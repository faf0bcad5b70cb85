"""What rewrites are given, and what they pass on to later parts of the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.cores.core import Core
from bmc.kernels.problem.problem import Problem
from bmc.kernels.schedule.choice import Proposal
from bmc.kernels.tree.assembly import Kernel
from bmc.libraries.library import Library, Taken
from bmc.rewrites.decisions import Decisions, Shape
from bmc.rewrites.iree.tiles.root import Levels
from bmc.rewrites.kernels.tuning import Tuning
from bmc.rewrites.model_context import States
from bmc.strips.outline import Outline
from bmc.strips.search import Cut
from bmc.target import Target


@dataclass(frozen=True)
class Config:
    """The lowering configuration of one dispatch.

    Attributes:
      function: dispatch function.
      op: its op signature.
      root: the operation that the tile sizes belong to, such as "linalg.matmul".
      default: IREE's choice, tile sizes by level.
      applied: the sizes that the kernel is compiled with.
      origin: who chose them: "iree", "bmc" or "tuning".
      own: whether a kernel of bmc's own takes the place of the one with these sizes.
      tuned: whether tuning.json has an entry for it.
      digest: of the kernel that it has without tuning.json, as an entry's `instead_of`.
      stale: whether its entry of tuning.json was made instead of another kernel.
      proposals: its kernel of bmc's own, and others that are worth trying.
      replaceable: whether IREE's kernel may take the place of its own without changes elsewhere.
      layers: names of the layers that it computes.
      problem: what its kernel of bmc's own computes, None if IREE writes its kernel.
      kernel: the one for that problem, before it is cut for harts.
      refusal: why IREE writes its kernel, "" if it does not.
      cycles: modeled cycles of one run of the kernel, None if IREE writes it or if it is cut for harts.
    """

    function: str
    op: str
    root: str
    default: Levels
    applied: Levels
    origin: str
    own: bool = False
    tuned: bool = False
    digest: str = ""
    stale: bool = False
    proposals: tuple[Proposal, ...] = ()
    replaceable: bool = False
    layers: tuple[str, ...] = ()
    problem: Problem | None = None
    kernel: Kernel | None = None
    refusal: str = ""
    cycles: int | None = None


@dataclass
class Context:
    """The facts that accompany the IR through the rewrites for a target.

    Attributes:
      target: instruction set.
      int8: whether the model is quantized.
      f16: whether to compute in f16 what it computes in f32.
      tuning: what tuning.json has for the target.
      proposes: whether to look for other kernels that dispatches could have.
      harts: how many harts share the workgroups of a dispatch.
      libraries: that may take dispatches; the first one that wants a dispatch gets it.
      states: the model's states.
      decisions: what was found out when the same IR went through the rest of the pipeline before.
      permutations: the axes for numpy.transpose of each weight whose layout differs from the parameter
        archive's; set by `channels_last` and `matmul_layout`.
      planes: convolutions whose results are planes; set by `planar`.
      single: convolutions of one channel that stay as they are; set by `im2col`.
      widened: weights of int8 that are stored in 16 bits; set by `wide_weights`.
      wide: the products that read them; set by `wide_weights`.
      exact_halves: the weights of f32 that are to be stored as f16 because that holds them exactly; None if
        none is to be.
      halved: weights of f32 that are stored as f16; set by `half_precision` and `half_weights`.
      extended: the products that read those in f32; set by `half_weights`.
      core: the core whose cycles decide between kernels, None for a blend.
      has_budget: whether the model must fit into a number of bytes.
      cuts: by function, what is computed in strips for that.
      scratch: how much scratch memory a kernel should take at most, None for as much as it likes.
      outlines: by function, what strips may be of; set by `strips`.
      configs: the lowering configurations; set by `lowering_configs` and `own_kernels`.
      taken: the dispatch functions that kernel libraries take; set by `kernel_libraries`.
    """

    target: Target
    int8: bool = False
    f16: bool = False
    tuning: Tuning = Tuning()
    proposes: bool = False
    harts: int = 1
    libraries: tuple[Library, ...] = ()
    states: States = States()
    decisions: Decisions = Decisions()
    permutations: dict[str, tuple[int, ...]] = field(default_factory=dict)
    planes: frozenset[Shape] = frozenset()
    single: frozenset[Shape] = frozenset()
    widened: frozenset[str] = frozenset()
    wide: frozenset[Shape] = frozenset()
    exact_halves: frozenset[str] | None = None
    halved: frozenset[str] = frozenset()
    extended: frozenset[Shape] = frozenset()
    core: Core | None = None
    has_budget: bool = False
    cuts: Mapping[str, tuple[Cut, ...]] = field(default_factory=dict)
    scratch: int | None = None
    outlines: dict[str, Outline] = field(default_factory=dict)
    configs: tuple[Config, ...] = ()
    taken: dict[str, Taken] = field(default_factory=dict)

    @property
    def has_own_kernels(self) -> bool:
        """Whether the target has vectors of at least 128 bits with 32-bit floats."""
        return self.target.is_riscv and self.target.vlen_bits >= 128
