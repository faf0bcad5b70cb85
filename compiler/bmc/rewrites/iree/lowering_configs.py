"""Lists and replaces lowering configurations, which are the tile sizes of every kernel.

IREE chooses a configuration for every dispatch. bmc overrides it for a few kinds of kernels on RISC-V
(rewrites/iree/tiles), and the model's tuning.json overrides both (rewrites/kernels/tuning.py).
"""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import contraction, ir_util, names
from bmc.iree.version import installed_version
from bmc.names import op_signature
from bmc.rewrites.context import Config, Context
from bmc.rewrites.iree import tiles
from bmc.rewrites.iree.tiles.root import Levels, Root
from bmc.rewrites.kernels import tuning
from bmc.rewrites.kernels.tuning import Tuning
from bmc.target import Target

_ATTRIBUTE = "lowering_config"
_LEVEL = re.compile(r"(\w+) = \[([^\]]*)\]")


def apply(module: Any, context: Context) -> None:
    """Replaces tile sizes; sets context.configs.

    Raises:
      BmcError: tuning.json names a level that a dispatch does not have.
    """
    context.configs = tuple(
        _apply_to(function, context.target, context.tuning)
        for function in ir_util.all_of(module, names.KERNEL_FUNCTION)
    )


def check_names(context: Context) -> None:
    """Checks the names in tuning.json, once no rewrite runs again: those of the dispatches depend on it.

    Raises:
      BmcError: it names a dispatch that does not exist, or wants a kernel that the target does not have.
    """
    known = {name for config in context.configs for name in (config.function, config.op)}
    for key, entry in context.tuning.entries.items():
        if key not in known:
            raise BmcError(
                "bad-tuning",
                f"no dispatch is called '{key}'",
                where=context.tuning.file,
                hint="report.json and `bmc inspect --configs` list the dispatches",
            )
        if entry.is_own and not context.has_own_kernels:
            raise BmcError(
                "bad-tuning",
                f"'{key}' has a choice about a kernel of bmc's own, which {context.target.isa} does not have",
                where=context.tuning.file,
            )


def _apply_to(function: ir_util.Op, target: Target, tuned: Tuning) -> Config:
    """Sets the tile sizes of one dispatch function, if it has any."""
    name = ir_util.string(function, "sym_name")
    op = op_signature(name)
    entry = tuned.of(name, op)
    configured = {
        op: _levels(op.attributes[_ATTRIBUTE])
        for op in ir_util.walk(function)
        if _ATTRIBUTE in op.attributes
    }
    roots = [op for op, levels in configured.items() if "distribution" in levels]
    if entry:
        _check(op, entry.levels, configured)
    if not roots:
        return Config(name, op, "", {}, {}, "iree", tuned=bool(entry), digest=_digest({}))
    root = roots[0]
    own = tiles.choose(_describe(root, configured[root]), target)
    changes, origin = own, "bmc" if own else "iree"
    if entry and entry.levels:
        changes, origin = entry.levels, "tuning"
    # Levels that the root lacks belong to operations fused with it, such as the rows of a softmax.
    default: Levels = {}
    for levels in (configured[root], *configured.values()):
        default |= {level: sizes for level, sizes in levels.items() if level not in default}
    untuned = default | {level: sizes for level, sizes in own.items() if level in default}
    changes = {level: sizes for level, sizes in changes.items() if level in default}
    # A fill or an epilogue has only the parallel loops, one for each dimension of the result.
    rank = _output_type(root).rank
    for sibling, levels in configured.items():
        new = {level: _follow(levels[level], level, default, changes, rank) for level in levels}
        if new != levels:
            sibling.attributes[_ATTRIBUTE] = _attribute(sibling.attributes[_ATTRIBUTE], new)
    applied = default | changes
    return Config(
        name,
        op,
        root.name,
        default,
        applied,
        origin,
        tuned=bool(entry),
        digest=_digest(untuned),
    )


def _digest(levels: Levels) -> str:
    """Returns what tells a kernel of IREE's with such tile sizes from another one."""
    return tuning.digest(f"IREE {installed_version()}, {sorted(levels.items())}")


def _follow(
    sizes: tuple[int, ...], level: str, default: Levels, changes: Levels, rank: int
) -> tuple[int, ...]:
    """Returns new sizes if an operation had the default's sizes or their parallel part, else its own."""
    if level in changes and sizes == default[level]:
        return changes[level]
    if level in changes and sizes == default[level][:rank]:
        return changes[level][:rank]
    return sizes


def _describe(root: ir_util.Op, levels: Levels) -> Root:
    maps = root.attributes.get("indexing_maps", ())
    operands = [v.type for v in root.operands if isinstance(v.type, ir.ShapedType)]
    return Root(
        name=root.name,
        operands=tuple((tuple(t.shape), str(t.element_type)) for t in operands),
        result=tuple(_output_type(root).shape),
        indexing_maps=tuple(str(m) for m in maps),
        loops=_loop_extents(root),
        levels=levels,
        body=tuple(op.name for op in ir_util.walk(root) if op.name != names.YIELD),
        product=contraction.read(root),
        extents=_extents(root),
    )


def _loop_extents(root: ir_util.Op) -> tuple[int, ...]:
    """Extent of each loop, 0 if no operand is indexed by that loop alone."""
    if "indexing_maps" not in root.attributes:
        return ()
    maps = [ir.AffineMapAttr(m).value for m in root.attributes["indexing_maps"]]
    extents = [0] * maps[0].n_dims
    for operand, indexing_map in zip(root.operands, maps, strict=True):
        for position, loop in enumerate(indexing_map.results):
            if re.fullmatch(r"d\d+", str(loop)):
                extents[int(str(loop)[1:])] = operand.type.shape[position]
    return tuple(extents)


def _output_type(root: ir_util.Op) -> Any:
    """Type of the root's output: a tensor, or a buffer for a plain copy."""
    if len(root.results):
        return root.results[len(root.results) - 1].type
    return root.operands[len(root.operands) - 1].type


def _extents(root: ir_util.Op) -> tuple[int, ...]:
    """The output's shape in the order of the loops, () unless they map one to one."""
    if "indexing_maps" not in root.attributes:
        return ()
    written = ir.AffineMapAttr(list(root.attributes["indexing_maps"])[-1]).value.results
    loops = [int(str(loop)[1:]) if re.fullmatch(r"d\d+", str(loop)) else -1 for loop in written]
    if sorted(loops) != list(range(len(loops))):
        return ()
    return tuple(extent for _, extent in sorted(zip(loops, _output_type(root).shape, strict=True)))


def _levels(attribute: Any) -> Levels:
    return {
        name: tuple(int(size) for size in sizes.split(",") if size.strip())
        for name, sizes in _LEVEL.findall(str(attribute))
    }


def _attribute(old: Any, levels: Levels) -> Any:
    def replace(match: re.Match[str]) -> str:
        return f"{match[1]} = [{', '.join(map(str, levels[match[1]]))}]"

    return ir.Attribute.parse(_LEVEL.sub(replace, str(old)))


def _check(key: str, changes: Levels, configured: dict[ir_util.Op, Levels]) -> None:
    for level, sizes in changes.items():
        lengths = {len(levels[level]) for levels in configured.values() if level in levels}
        if not lengths:
            known = sorted({name for levels in configured.values() for name in levels})
            raise BmcError(
                "bad-tuning",
                f"'{key}' has no tiling level '{level}'",
                hint=f"its levels are {', '.join(known)}",
            )
        if len(sizes) != max(lengths):
            raise BmcError(
                "bad-tuning", f"'{level}' of '{key}' needs {max(lengths)} sizes, not {len(sizes)}"
            )
