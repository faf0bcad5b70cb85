"""Replaces the bodies of dispatches by kernels that bmc writes itself.

IREE's code generator spills groups of eight vector registers, and falls off a cliff where channels or pixels are not
divisible by its tiles. A product with an epilogue of simple operations becomes inline assembly instead, and so does a
scatter of rows, which IREE copies one number at a time (bmc/kernels). Everything else about the dispatch stays as IREE
made it: its bindings, its entry in the table of kernels, and its place in their ELF.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from dataclasses import dataclass, replace
from typing import Any

from bmc.cores.core import Core
from bmc.errors import BmcError
from bmc.ir import contraction, ir_util
from bmc.kernels.problem.problem import Problem
from bmc.kernels.problem.product import Product
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.read import reduction
from bmc.kernels.read.dispatch import read
from bmc.kernels.read.product import read as read_product
from bmc.kernels.schedule import fastest, workgroups
from bmc.kernels.schedule.choice import DEFAULT, Choice, Proposal, proposals
from bmc.kernels.schedule.workgroups import Workgroups
from bmc.kernels.schedule.write import write
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported
from bmc.rewrites.context import Config, Context
from bmc.rewrites.decisions import Again, Decisions, Shape
from bmc.rewrites.kernels import kernel_bodies, tuning
from bmc.rewrites.kernels.tuning import Entry
from bmc.target import Target

_LOG = logging.getLogger(__name__)
_MOST_PROPOSALS = 24


def applies(context: Context) -> bool:
    """Whether the target has such kernels."""
    return context.has_own_kernels


def apply(module: Any, context: Context) -> None:
    """Replaces the body of every dispatch that has a kernel, except where tuning.json wants IREE's.

    Raises:
      Again: IREE would have to write the kernel of a convolution of planes, one number at a time, or one of a
        convolution with its padding, or of an image with one channel, or with weights of int8 in 16 bits or of f32 in
        f16.
      BmcError: tuning.json has a choice that a dispatch does not have.
    """
    configs = {config.function: config for config in context.configs}
    kept: set[Shape] = set()
    padded: set[Shape] = set()
    wide: set[Shape] = set()
    halves: set[Shape] = set()
    for function in ir_util.all_of(module, "func.func"):
        name = ir_util.string(function, "sym_name")
        config = configs.get(name, Config(name, "", "", {}, {}, "iree"))
        config = replace(config, layers=_layers(function))
        entry = context.tuning.of(name, config.op)
        shapes = {contraction.shape(op) for op in ir_util.walk(function) if contraction.read(op)}
        pads = any(op.name == "tensor.pad" for op in ir_util.walk(function))
        try:
            choice = DEFAULT
            found, kernel = _kernel(function, context)
            config = replace(config, digest=tuning.digest(kernel.text))
            if entry and entry.is_iree:
                raise Unsupported("tuning.json wants it")
        except Unsupported as reason:
            _LOG.info("%s keeps IREE's kernel: %s", name, reason)
            config = replace(config, refusal=str(reason))
            if entry and entry.is_own:
                raise _refused(config, entry, context, reason) from None
            (padded if pads else kept).update(shapes)
            # Where it has none in 8 bits either, the padding may be what is in the way.
            if entry is None and not (pads and _narrow(function, context) is None):
                wide |= shapes & context.wide
            halves |= shapes & context.extended if entry is None else set()
        else:
            if context.proposes:
                alone = not pads and not shapes & (context.planes | context.wide | context.extended)
                config = replace(config, proposals=_proposals(function, context), replaceable=alone)
            if entry and entry.is_own:
                choice = entry.choice
                try:
                    found, kernel = _kernel(function, context, choice)
                except Unsupported as reason:
                    raise _refused(config, entry, context, reason) from None
            if (
                entry is None
                and shapes & context.wide
                and is_better_narrow(function, context, kernel)
            ):
                wide |= shapes & context.wide
            shared = _shared(found, kernel, choice, context.harts)
            kernel_bodies.replace(function, found.operands, shared, context.target.xlen)
            config = replace(config, own=True, problem=found.problem, kernel=kernel)
            if context.harts == 1:
                vlen = context.target.vlen_bits
                config = replace(
                    config, cycles=round(fastest.cycles_of(kernel, vlen, context.core))
                )
        configs[name] = config
    # One after the other, because each may make the next ones needless: a kernel that refuses weights in 16 bits may
    # read through paddings with weights in 8, and images whose padded copies are counted may be worth no planes.
    for decisions in (
        Decisions(narrow=frozenset(wide), whole=frozenset(halves)),
        Decisions(copied=frozenset(padded - context.decisions.copied)),
        Decisions(
            pixels=frozenset(kept & context.planes), gathered=frozenset(kept & context.single)
        ),
    ):
        if decisions != Decisions():
            raise Again(decisions)
    context.configs = tuple(configs[config.function] for config in context.configs)


def is_better_narrow(function: ir_util.Op, context: Context, kernel: Kernel) -> bool:
    """Whether a kernel would take fewer cycles with weights in 8 bits, as where its lanes are pixels then."""
    narrow, vlen = _narrow(function, context), context.target.vlen_bits
    return narrow is not None and fastest.best((kernel, narrow), vlen, context.core) is narrow


def _narrow(function: ir_util.Op, context: Context) -> Kernel | None:
    """Returns a kernel that reads weights in 8 bits, None if there is none."""
    try:
        product = read_product(function, narrow=True).product
        return fastest.write(product, context.target.vlen_bits, core=context.core)
    except Unsupported:
        return None


def cost(function: ir_util.Op, context: Context) -> int:
    """Returns how many instructions the kernel of a dispatch executes, on the hart that has most to do.

    Raises:
      Unsupported: it has no kernel.
    """
    if not applies(context):
        raise Unsupported("an instruction set without such kernels")
    found, kernel = _kernel(function, context)
    shared = _shared(found, kernel, DEFAULT, context.harts)
    return (shared.kernel if isinstance(shared, Workgroups) else kernel).executed


@dataclass(frozen=True)
class _Found:
    """What a dispatch computes, and its operands: buffers, or constant tensors."""

    problem: Problem
    operands: tuple[Any, ...]
    target: Target
    core: Core | None
    scratch: int | None = None

    def write(self, choice: Choice) -> Kernel:
        kernel = self.write_piece(self.problem, choice)
        if choice == DEFAULT and self.scratch is not None and kernel.scratch > self.scratch:
            with contextlib.suppress(Unsupported):
                other = self.write_piece(self.problem, replace(choice, widens=False))
                return min(kernel, other, key=lambda each: each.scratch)
        return kernel

    def write_piece(self, piece: Problem, choice: Choice) -> Kernel:
        return write(piece, self.target.vlen_bits, self.target.xlen, choice, self.core)


def _kernel(
    function: ir_util.Op, context: Context, choice: Choice = DEFAULT
) -> tuple[_Found, Kernel]:
    """Returns what a dispatch computes and its kernel; raises Unsupported if it has none, or no such choice."""
    try:
        found = _read(function, context, choice.lanes or 0)
        return found, found.write(choice)
    except Unsupported as reason:
        products = [op for op in ir_util.walk(function) if contraction.read(op)]
        in_planes = not context.planes.isdisjoint(map(contraction.shape, products))
        if choice != DEFAULT or not products or in_planes:
            raise
        try:
            found = _allowed(*reduction.read(function), context)
            return found, found.write(choice)
        except Unsupported:
            raise reason from None


def _layers(function: ir_util.Op) -> tuple[str, ...]:
    """Returns the names of the layers that a dispatch function computes."""
    return tuple(dict.fromkeys(filter(None, map(ir_util.layer, ir_util.walk(function)))))


def _shared(found: _Found, kernel: Kernel, choice: Choice, harts: int) -> Kernel | Workgroups:
    """Returns the pieces of a kernel for several harts, if it is worth cutting."""
    if harts == 1 or isinstance(found.problem, Scatter):
        return kernel
    pieces = workgroups.cut(
        found.problem,
        kernel,
        harts,
        lambda piece: found.write_piece(piece, choice),
        lambda kernels: fastest.best(kernels, found.target.vlen_bits, found.core),
    )
    return pieces or kernel


def _read(function: ir_util.Op, context: Context, lanes: int) -> _Found:
    """Returns what a dispatch computes, with one of the possible loops as lanes."""
    return _allowed(*read(function, lanes), context)


def _allowed(problem: Problem, operands: tuple[Any, ...], context: Context) -> _Found:
    """Returns a problem to write; raises Unsupported if the target lacks instructions that its kernel needs."""
    if missing := problem.halves - context.target.halves:
        raise Unsupported(f"{min(missing)} on an instruction set without it")
    if isinstance(problem, Product) and not context.target.multiplies_bf16:
        problem = replace(problem, extends=True)
    return _Found(problem, operands, context.target, context.core, context.scratch)


def _proposals(function: ir_util.Op, context: Context) -> tuple[Proposal, ...]:
    """Returns the kernel of a dispatch, and others that are worth trying; none if it has no choices."""
    read_once = functools.cache(lambda lanes: _read(function, context, lanes))

    def write(choice: Choice) -> Kernel:
        return read_once(choice.lanes or 0).write(choice)

    try:
        return proposals(write, _MOST_PROPOSALS)
    except Unsupported:
        return ()


def _refused(config: Config, entry: Entry, context: Context, reason: Unsupported) -> BmcError:
    chosen = ", ".join(f"{name} = {value}" for name, value in entry.choice.described().items())
    return BmcError(
        "bad-tuning",
        f"'{config.op}' has no kernel of bmc's own with {chosen}: {reason}",
        where=context.tuning.file,
    )
