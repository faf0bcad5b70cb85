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
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bmc.errors import BmcError
from bmc.ir import contraction, ir_util
from bmc.kernels import elementwise, fastest, reducing, reductions, scatter, shares
from bmc.kernels.assembly import Kernel
from bmc.kernels.choice import DEFAULT, Choice, Proposal, proposals
from bmc.kernels.elementwise import Elementwise
from bmc.kernels.explain import explained
from bmc.kernels.product import Product, Unsupported, has_halves
from bmc.kernels.read import read
from bmc.kernels.reductions import Reduction
from bmc.kernels.scatter import Scatter
from bmc.kernels.shares import Shares
from bmc.rewrites import kernel_bodies, tuning
from bmc.rewrites.context import Config, Context, Decisions, Shape
from bmc.rewrites.rewrite import Again
from bmc.rewrites.tuning import Entry

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
            if context.explains:
                text = f"{_heading(function)}\nIREE writes its kernel: {reason}"
                config = replace(config, explanation=text)
            if entry and entry.is_own:
                raise _refused(config, entry, context, reason) from None
            (padded if pads else kept).update(shapes)
            # Where it has none in 8 bits either, the padding may be what is in the way.
            if entry is None and not (pads and _narrow_cost(function, context) is None):
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
            config = replace(config, own=True)
            if context.explains:
                text = f"{_heading(function)}\n{explained(found.what, kernel)}"
                config = replace(config, explanation=text)
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
    """Whether a kernel would take fewer instructions with weights in 8 bits, as where its lanes are pixels then."""
    cost = _narrow_cost(function, context)
    return cost is not None and cost < kernel.executed


def _narrow_cost(function: ir_util.Op, context: Context) -> int | None:
    """Returns the instructions of a kernel that reads weights in 8 bits, None if there is none."""
    try:
        product = read(function, narrow=True).product
        return fastest.write(product, context.target.vlen_bits).executed
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
    return (shared.kernel if isinstance(shared, Shares) else kernel).executed


@dataclass(frozen=True)
class _Found:
    """What a dispatch computes.

    Attributes:
      operands: buffers, or constant tensors.
      what: as the packages of bmc/kernels describe it.
      write: writes a kernel of that, or of a piece of it.
    """

    operands: tuple[Any, ...]
    what: Any
    write: Callable[[Any, Choice], Kernel]


def _kernel(
    function: ir_util.Op, context: Context, choice: Choice = DEFAULT
) -> tuple[_Found, Kernel]:
    """Returns what a dispatch computes and its kernel; raises Unsupported if it has none, or no such choice."""
    try:
        found = _read(function, context, choice.lanes or 0)
        return found, found.write(found.what, choice)
    except Unsupported as reason:
        products = [op for op in ir_util.walk(function) if contraction.read(op)]
        in_planes = not context.planes.isdisjoint(map(contraction.shape, products))
        if choice != DEFAULT or not products or in_planes:
            raise
        try:
            found = _allowed(_reduced(function, context.target.vlen_bits), context)
            return found, found.write(found.what, choice)
        except Unsupported:
            raise reason from None


def _heading(function: ir_util.Op) -> str:
    """Returns the name of a dispatch function, and the layers that it computes."""
    layers = dict.fromkeys(filter(None, map(ir_util.layer, ir_util.walk(function))))
    return f"{ir_util.string(function, 'sym_name')}, of {', '.join(layers) or 'no layer'}"


def _shared(found: _Found, kernel: Kernel, choice: Choice, harts: int) -> Kernel | Shares:
    """Returns the pieces of a kernel for several harts, if it is worth cutting."""
    if harts == 1 or isinstance(found.what, Scatter):
        return kernel
    return shares.cut(found.what, kernel, harts, lambda part: found.write(part, choice)) or kernel


def _read(function: ir_util.Op, context: Context, lanes: int) -> _Found:
    """Returns what a dispatch computes, with one of the possible loops as lanes."""
    return _allowed(_described(function, context, lanes), context)


def _allowed(found: _Found, context: Context) -> _Found:
    """Returns what it is given; raises Unsupported if the target lacks instructions that its kernel needs."""
    if not context.target.has_f16 and _has_halves(found.what):
        raise Unsupported("f16 on an instruction set without it")
    return found


def _has_halves(what: Any) -> bool:
    """Whether a kernel needs instructions for f16. A scatter moves bytes."""
    match what:
        case Product(dtypes=dtypes, epilogue=epilogue):
            return has_halves(dtypes, epilogue)
        case Reduction(dtypes=dtypes, step=step, epilogue=epilogue):
            return has_halves(dtypes, step, epilogue)
        case Elementwise(dtypes=dtypes, nodes=nodes):
            return has_halves(dtypes, nodes)
    return False


def _described(function: ir_util.Op, context: Context, lanes: int) -> _Found:
    vlen, xlen = context.target.vlen_bits, context.target.xlen
    if any(op.name == "iree_linalg_ext.scatter" for op in ir_util.walk(function)):
        scattered, operands = scatter.read(function)

        def write(scattered: Scatter, choice: Choice) -> Kernel:
            choice.require()
            return scatter.write(scattered, vlen, xlen)

        return _Found(operands, scattered, write)
    if any(contraction.read(op) for op in ir_util.walk(function)):
        dispatch = read(function, lanes)
        if dispatch.product.has_long_lines:
            with contextlib.suppress(Unsupported):
                return _reduced(function, vlen)
        return _Found(
            dispatch.operands,
            dispatch.product,
            lambda product, choice: fastest.write(product, vlen, choice),
        )
    if any(reductions.is_reduction(op) for op in ir_util.walk(function)):
        return _reduced(function, vlen)
    moved, operands = elementwise.read(function, lanes)

    def move(moved: Elementwise, choice: Choice) -> Kernel:
        choice.require("lanes", "lmul")
        return elementwise.write(moved, vlen, xlen, choice)

    return _Found(operands, moved, move)


def _reduced(function: ir_util.Op, vlen: int) -> _Found:
    """Returns the same of a dispatch that is computed as a reduction."""
    reduced, operands = reductions.reduction(function)

    def write(reduced: Reduction, choice: Choice) -> Kernel:
        choice.require()
        return reducing.write(reduced, vlen)

    return _Found(operands, reduced, write)


def _proposals(function: ir_util.Op, context: Context) -> tuple[Proposal, ...]:
    """Returns the kernel of a dispatch, and others that are worth trying; none if it has no choices."""
    read_once = functools.cache(lambda lanes: _read(function, context, lanes))

    def write(choice: Choice) -> Kernel:
        found = read_once(choice.lanes or 0)
        return found.write(found.what, choice)

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
