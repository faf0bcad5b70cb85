"""Lets the framework answer made-up inputs too, so that a model that is right only for the user's is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from iree.compiler import ir

from bmc import conditioning, samples, spec, tolerances
from bmc.artifacts import Framework, ImportedModel
from bmc.errors import BmcError
from bmc.frontends import input_roles, quantized
from bmc.frontends.input_roles import Roles
from bmc.ir import ir_util


@dataclass(frozen=True, slots=True)
class _Defines:
    """What a framework defines, or answers with an error; with anything else it may crash or return any number.

    Attributes:
      floats: NaN where numbers are compared, and the quotient of integers and 0.
      from_end: an index that counts from the end, or is outside of a tensor by as much.
      outside: any other index outside of a tensor.
    """

    floats: bool
    from_end: bool = True
    outside: bool = False


_DEFINED = {
    "gguf": _Defines(floats=True, from_end=False),
    "jax": _Defines(floats=True, outside=True),
    "keras": _Defines(floats=False),
    "onnx": _Defines(floats=False),
    "tflite": _Defines(floats=False, from_end=False),
    "torch": _Defines(floats=True),
}
# Made-up cases and their answers take no more than this, and there are few for a model with many weights.
_MOST_BYTES = 512 * 1024
_MANY_WEIGHTS = 1024 * 1024
_FEW = 2


def added(model: ImportedModel) -> ImportedModel:
    """Returns the model with made-up inputs and the framework's answers in `compared_only`.

    A model that is quantized, or whose framework cannot be asked, gets none.

    Raises:
      BmcError: the user's ranges are not one per input.
    """
    framework = model.framework
    model = replace(model, framework=None)
    if framework is None or quantized.is_quantized(quantized.kinds(model.mlir)):
        return model
    inputs = [info for signature in model.signatures for info in signature.inputs]
    if framework.ranges and len(framework.ranges) != len(inputs):
        raise BmcError(
            "bad-spec",
            f"{len(framework.ranges)} ranges given for {len(inputs)} inputs",
            hint="give one (least, largest) per input, or None",
        )
    kinds: list[str] = []
    entries: list[int] = []
    made: list[tuple[spec.Case, spec.Case]] = []
    names = tuple(signature.name for signature in model.signatures)
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir_util.read(model.mlir)
        roles = [input_roles.read(module, name, names) for name in names]
    for entry in range(len(model.signatures)):
        for kind, case, outputs in _of_entry(model, framework, entry, roles[entry]):
            kinds.append(kind)
            entries.append(entry)
            made.append((case, outputs))
    return replace(
        model,
        made_up=tuple(kinds),
        made_up_entries=tuple(entries),
        compared_only=(*model.compared_only, *made),
    )


def _of_entry(
    model: ImportedModel, framework: Framework, entry: int, roles: Roles
) -> Iterator[tuple[str, spec.Case, spec.Case]]:
    """Yields the kinds of what is made up for an entry point, the inputs and the framework's answers."""
    signature, answer = model.signatures[entry], framework.answers[entry]
    before = model.signatures[:entry]
    first, answered = model.golden.first_of(entry)
    ranges = framework.ranges[sum(len(s.inputs) for s in before) :][: len(first)]
    policies = model.golden.policies[sum(len(s.outputs) for s in before) :][: len(answered)]
    name, defined = model.frontend, _DEFINED[model.frontend]
    moves = not roles.rounds
    # Integers that become integers are right or wrong, whatever the IR computes them with.
    counts = not model.parameters and not any(
        info.dtype.is_float for info in (*signature.inputs, *signature.outputs)
    )
    uses = samples.Uses(
        roles.extents,
        floats=moves and not roles.loops and defined.floats,
        integers=(moves or counts) and not roles.loops,
        # Roundings add up to more with large integers. Bytes are all small, as pixels are.
        bytes=not roles.loops,
        equal=not roles.sorts or name != "torch",
        signs=not roles.chooses,
        zeros=not roles.divides or defined.floats,
        from_end=defined.from_end,
        outside=defined.outside,
    )
    most = _MOST_BYTES // len(model.signatures)
    count = most // max(sum(array.nbytes for array in (*first, *answered)), 1)
    if sum(math.prod(parameter.shape) for parameter in model.parameters) > _MANY_WEIGHTS:
        count = min(count, _FEW)
    is_steady = conditioning.judge(
        answer, signature.outputs, tuple(map(tolerances.of_made_up, policies, answered))
    )
    for kind, case in samples.beside(first, signature.inputs, ranges, uses)[:count]:
        try:
            outputs = answer(case)
        except BmcError:
            continue  # The framework does not define it.
        if roles.rounds:
            kept, _ = samples.sensible((first, case), (answered, outputs), is_steady)
            if len(kept) == 1:
                continue
        yield kind, case, outputs
