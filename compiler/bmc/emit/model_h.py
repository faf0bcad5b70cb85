"""Writes <name>.h, the header through which C and C++ use a model.

A name in a model file may be anything. In comments it is reduced to plain characters, in identifiers to
letters, digits and _, with a number where two would be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bmc.dtype import DType
from bmc.elf.kernels import Kernels
from bmc.emit import c_text, symbols
from bmc.plan.tables import Entry, Plan, Tensor
from bmc.target import Target

# C99 promises that this many characters of a name count.
_LONGEST_NAME = 32

# Half floats have no type in C: their bits do.
_C_TYPES = {
    DType.BOOL: "uint8_t", DType.I8: "int8_t", DType.U8: "uint8_t", DType.I16: "int16_t", DType.U16: "uint16_t",
    DType.I32: "int32_t", DType.U32: "uint32_t", DType.I64: "int64_t", DType.U64: "uint64_t",
    DType.F16: "uint16_t", DType.BF16: "uint16_t", DType.F32: "float", DType.F64: "double",
}  # fmt: skip


@dataclass(frozen=True)
class _Accessor:
    """How C reaches an input or output: the function `name`, and `name` in capitals for its constants."""

    name: str
    kind: str
    tensor: Tensor

    @property
    def c_type(self) -> str:
        return _C_TYPES[self.tensor.info.dtype]

    @property
    def elements(self) -> str:
        return f"{self.name.upper()}_ELEMENTS"

    @property
    def count(self) -> int:
        return self.tensor.info.byte_count // self.tensor.info.dtype.byte_count

    @property
    def description(self) -> str:
        info = self.tensor.info
        shape = ", ".join(map(str, info.shape))
        return f"{info.dtype.name.lower()} [{shape}], {info.byte_count} bytes"


@dataclass(frozen=True)
class _EntryPoint:
    """An entry point. `getter` is the function that finds it; "" for a model's only one."""

    name: str
    getter: str
    inputs: tuple[_Accessor, ...]
    outputs: tuple[_Accessor, ...]


class _Identifiers:
    """Makes names of model files identifiers, each a different one, whatever the case of its letters."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def make(self, prefix: str, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:_LONGEST_NAME] or "unnamed"
        found, number = f"{prefix}_{plain}", 1
        while found.upper() in self._used:
            number += 1
            found = f"{prefix}_{plain}_{number}"
        self._used.add(found.upper())
        return found


def source(
    model: Plan, kernels: Kernels | None, target: Target, classes: tuple[str, ...] = ()
) -> str:
    """Returns the header: the model's sizes, its entry points, its tensors, and an example that compiles.

    Args:
      classes: the names of a classifier's classes.
    """
    name, upper = model.name, model.name.upper()
    entries = _entry_points(model)
    tensors = [a for entry in entries for a in (*entry.inputs, *entry.outputs)]
    sizes = {
        f"{upper}_ARENA_BYTES": model.arena_bytes,
        f"{upper}_WEIGHTS_BYTES": model.weights_bytes,
        f"{upper}_STATE_BYTES": model.state_bytes,
        f"{upper}_CODE_BYTES": kernels.loaded_bytes if kernels else 0,
        **{tensor.elements: tensor.count for tensor in tensors},
    }
    return _HEADER.format(
        banner=c_text.BANNER,
        name=name,
        upper=upper,
        plan=symbols.plan(name),
        isa=target.isa,
        entries="".join(map(_described, entries)),
        sizes="".join(f"  {constant} = {value},\n" for constant, value in sizes.items()),
        functions="".join((*_functions(entries), *_classes(name, classes))),
        example=_example(name, entries[0]),
    )


def _entry_points(model: Plan) -> list[_EntryPoint]:
    identifiers = _Identifiers()

    def accessors(prefix: str, kind: str, tensors: tuple[Tensor, ...]) -> tuple[_Accessor, ...]:
        return tuple(
            _Accessor(identifiers.make(f"{prefix}_{kind}", tensor.info.name), kind, tensor)
            for tensor in tensors
        )

    def entry_point(entry: Entry) -> _EntryPoint:
        getter = prefix = ""
        if len(model.entries) > 1:
            getter = identifiers.make(f"{model.name}_entry", entry.name)
            prefix = getter.removeprefix(f"{model.name}_entry")
        return _EntryPoint(
            entry.name,
            getter,
            accessors(model.name + prefix, "input", entry.inputs),
            accessors(model.name + prefix, "output", entry.outputs),
        )

    return [entry_point(entry) for entry in model.entries]


def _described(entry: _EntryPoint) -> str:
    of = f" of {c_text.comment(entry.name)}" if entry.getter else ""
    return "".join(
        f"//   {a.kind}{of}: {c_text.comment(a.tensor.info.name)}, {a.description}\n"
        for a in (*entry.inputs, *entry.outputs)
    )


def _functions(entries: list[_EntryPoint]) -> Iterator[str]:
    for entry in entries:
        if entry.getter:
            yield _ENTRY.format(getter=entry.getter, name=c_text.string(entry.name))
        for a in entry.inputs:
            yield _ACCESSOR.format(const="", accessor=a, offset=a.tensor.offset)
        for a in entry.outputs:
            yield _ACCESSOR.format(const="const ", accessor=a, offset=a.tensor.offset)


def _classes(name: str, classes: tuple[str, ...]) -> Iterator[str]:
    if classes:
        names = "".join(f"    {c_text.string(each)},\n" for each in classes)
        yield _CLASSES.format(name=name, names=names, count=len(classes))


def _example(name: str, entry: _EntryPoint) -> str:
    lines = []
    for number, a in enumerate(a for a in entry.inputs if a.count):
        lines += [
            f"{a.c_type} *in{number} = {a.name}(&model);",
            f"for (size_t i = 0; i < {a.elements}; ++i) in{number}[i] = 0;",
        ]
    lines.append("BM_TRY(bm_model_run(&model));")
    for number, a in enumerate(a for a in entry.outputs if a.count):
        lines += [
            f"const {a.c_type} *out{number} = {a.name}(&model);",
            f"(void)out{number};  // out{number}[0] and so on, until the next run",
        ]
    return "".join(f"  {line}\n" for line in lines)


_HEADER = """\
// {banner}
//
// The model {name}, compiled for {isa}. Tensors are dense and row-major:
//
{entries}//
// The example at the end shows how to use it; compile with -D{upper}_EXAMPLE to
// have it as a function.
#ifndef BM_GENERATED_{upper}_H_
#define BM_GENERATED_{upper}_H_

#include "runtime_bm/bm.h"

BM_EXTERN_C_BEGIN

// Arena: inputs, outputs and intermediates, in memory that you provide.
// Weights: constant, read in place. State: what the model keeps between runs,
// memory of its own. Code: memory that bm_model_init needs, only if kernels are
// loaded at run time.
enum {{
{sizes}}};

extern const bm_plan_t {plan};

typedef struct {name}_arena_t {{
  BM_ALIGNED uint8_t bytes[{upper}_ARENA_BYTES];
}} {name}_arena_t;

// Prepares a model whose kernels are linked in, as by default. The arena must
// outlive it. Errors: those of bm_model_init.
static inline BM_MUST_USE bm_status_t {name}_init(bm_model_t *out_model,
    {name}_arena_t *arena) {{
  const bm_span_t memory = {{arena->bytes, sizeof(arena->bytes)}};
  const bm_span_t no_code = {{NULL, 0}};
  return bm_model_init(out_model, &{plan}, memory, no_code);
}}

// An input or output in the arena of this model. A run may overwrite its
// inputs: set them before each run.

{functions}#ifdef {upper}_EXAMPLE
// Runs the model once, on zeros.
static inline BM_MUST_USE bm_status_t {name}_example(void) {{
  static {name}_arena_t arena;
  bm_model_t model;
  BM_TRY({name}_init(&model, &arena));
{example}  return bm_ok();
}}
#endif

BM_EXTERN_C_END

#endif  // BM_GENERATED_{upper}_H_
"""

_ENTRY = """\
static inline BM_MUST_USE bm_status_t {getter}(const bm_model_t *model,
    bm_model_t *out_model) {{
  return bm_model_entry(model, {name}, out_model);
}}

"""

_ACCESSOR = """\
static inline {const}{accessor.c_type} *{accessor.name}(const bm_model_t *model) {{
  return ({const}{accessor.c_type} *)bm_model_at(model, {offset}u);
}}

"""

_CLASSES = """\
// Returns the name of the class with this label, NULL if there is none.
static inline const char *{name}_class(size_t label) {{
  static const char *const names[] = {{
{names}  }};
  return label < {count}u ? names[label] : NULL;
}}

"""
