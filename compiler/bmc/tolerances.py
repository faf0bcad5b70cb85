"""Tolerances for models that come without any, and a check for tolerances that are too wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from bmc import answers, spec
from bmc.artifacts import Golden, GoldenCall, Signature, TensorInfo
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.spread import NONE, Spread

# Fractions of an output's largest element. Sums in another order differ by a few units in the last place
# of their largest term. In f32, 1e-5 is about 170 units. In f16, with 11 bits, one unit is 1e-3.
_RELATIVE = 1e-5
_RELATIVE_16_BITS = 1e-2
_MADE_UP = 1e-2


def default(
    outputs: tuple[TensorInfo, ...],
    expected: tuple[spec.Case, ...],
    apart: Spread = NONE,
) -> tuple[spec.Policy, ...]:
    """Returns a policy per output for a model that has none.

    Integers must be equal, and floats as close as the size of the output allows, but no closer than the framework's own
    kernels are.

    Args:
      outputs: the model's outputs.
      expected: the framework's outputs for each case.
      apart: the spread of the framework's kernels for this model.
    """
    return tuple(
        _close(info, _largest(expected, index), apart) if info.dtype.is_float else spec.Exact()
        for index, info in enumerate(outputs)
    )


def of_f16(golden: Golden, signatures: tuple[Signature, ...]) -> tuple[spec.Policy, ...]:
    """Returns the policies of a model that is computed in f16: its own where they are wider."""
    calls = golden.calls or (GoldenCall(0, False),) * len(golden.inputs)
    made = list(zip(calls, golden.outputs, strict=True))
    policies = iter(golden.policies)
    return tuple(
        _wider(
            next(policies), _largest([case for call, case in made if call.entry == entry], index)
        )
        for entry, signature in enumerate(signatures)
        for index, _ in enumerate(signature.outputs)
    )


def of_made_up(policy: spec.Policy, first: Array) -> spec.Policy:
    """Returns a policy for made-up inputs: the model's own, but no closer than a hundredth of what it tells apart.

    Args:
      policy: that of an output.
      first: the output for the user's first case, whose size tells what roundings may add up to.
    """
    if not isinstance(policy, spec.Tolerance):
        return policy
    size = float(np.abs(first[np.isfinite(first)]).max(initial=0.0))
    atol = max(policy.atol, _MADE_UP * size)
    return spec.Tolerance(atol, max(policy.rtol, _MADE_UP))


def _wider(own: spec.Policy, largest: float) -> spec.Policy:
    if not isinstance(own, spec.Tolerance):
        return own
    least = _within(_RELATIVE_16_BITS, largest)
    return replace(own, atol=max(own.atol, least.atol), rtol=max(own.rtol, least.rtol))


def _close(info: TensorInfo, largest: float, apart: Spread) -> spec.Tolerance:
    own = _RELATIVE if info.dtype.byte_count > 2 else _RELATIVE_16_BITS
    return _within(max(own, apart.relative), largest, apart.absolute)


def _within(relative: float, largest: float, least: float = 0.0) -> spec.Tolerance:
    # Two digits are enough, and are the same on every machine except for a tie.
    atol = float(f"{max(relative * largest, least):.1e}")
    # The firmware has it in f32. Of numbers beyond that, rtol alone allows a fraction.
    atol = min(atol, answers.LARGEST_TOLERANCE)
    return spec.Tolerance(atol=atol, rtol=max(relative, 1e-4))


def _largest(expected: Sequence[spec.Case], index: int) -> float:
    """Returns the largest finite |element| of an output."""
    arrays = (np.abs(case[index].astype(np.float64)) for case in expected)
    return max(float(array[np.isfinite(array)].max(initial=0.0)) for array in arrays)


def is_met_by_zeros(
    cases: Sequence[spec.Case], index: int, policy: spec.Policy, info: TensorInfo
) -> bool:
    """Whether zeros would pass as output number `index` of all cases, so that nothing is tested."""
    wanted = [case[index] for case in cases]
    return all(answers.compare(np.zeros_like(w), w, policy).ok for w in wanted)


def require_meaning(golden: Golden, signatures: tuple[Signature, ...]) -> None:
    """Raises BmcError if zeros would pass as an output in all cases, or no output has a number: nothing is tested."""
    calls = golden.calls or (GoldenCall(0, False),) * len(golden.inputs)
    first_policy = [0, *accumulate(len(signature.outputs) for signature in signatures)]
    for entry, signature in enumerate(signatures):
        made = [
            want for call, want in zip(calls, golden.outputs, strict=True) if call.entry == entry
        ]
        for index, info in enumerate(signature.outputs if made else ()):
            policy = golden.policies[first_policy[entry] + index]
            if info.byte_count and is_met_by_zeros(made, index, policy, info):
                raise _says_nothing(info, _largest(made, index), policy)
    filled = [array for case in golden.outputs for array in case if array.size]
    if filled and not any(np.isfinite(array).any() for array in filled):
        raise BmcError(
            "weak-tolerance",
            "all outputs are infinite or NaN, so nothing is tested",
            hint="give cases with numbers",
        )


def cases_not_told_from_zeros(golden: Golden, signatures: tuple[Signature, ...]) -> tuple[str, ...]:
    """Returns a sentence for each output that is so small in a case that zeros pass there, beside larger ones."""
    if golden.calls:
        return ()  # The steps of a sequence may well begin with zeros.
    notes = []
    for index, info in enumerate(signatures[0].outputs):
        policy = golden.policies[index]
        for number, case in enumerate(golden.outputs):
            size = _largest([case], index)
            if size and is_met_by_zeros([case], index, policy, info):
                notes.append(
                    f"zeros would pass as output {info.name} of case {number}: its largest element is {size:.3g}, and"
                    f" that of all cases {_largest(golden.outputs, index):.3g}, which the tolerance {policy} is for."
                    " Give a tolerance, or leave one of these cases out"
                )
                break
    return tuple(notes)


def _says_nothing(info: TensorInfo, largest: float, policy: spec.Policy) -> BmcError:
    if largest == 0.0:
        return BmcError(
            "weak-tolerance",
            f"output {info.name} is zero in every case, so nothing is tested",
            hint="give cases in which it is not zero, or remove that output",
        )
    return BmcError(
        "weak-tolerance",
        f"zeros would pass as output {info.name}: its largest element is {largest:.3g}, and its"
        f" tolerance {policy}",
        hint="give a tolerance that is small compared to the outputs, or weights and inputs of realistic"
        " size",
    )
