"""Checks the policies of outputs, which come from a user's code or from import.json, and their form there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bmc import answers, spec
from bmc.dtype import DType
from bmc.errors import BmcError

_KINDS: dict[str, type[spec.Policy]] = {
    kind.__name__: kind for kind in (spec.Exact, spec.IntStep, spec.Tolerance)
}


def checked(policy: Any) -> spec.Policy:
    """Returns a policy with Python's own numbers; raises BmcError if it is none, or has a number that none can have."""
    numbers: tuple[Any, ...] = ()
    cosine: Any = None
    if isinstance(policy, spec.Tolerance):
        cosine = policy.min_cosine
        numbers = (policy.atol, policy.rtol, 0 if cosine is None else cosine)
    elif isinstance(policy, spec.IntStep):
        numbers = (policy.max_step, policy.max_differing)
    elif not isinstance(policy, spec.Exact):
        raise BmcError(
            "bad-spec",
            f"a tolerance is of type {type(policy).__name__}",
            hint="give bmc.spec.Tolerance(atol, rtol), Exact() or IntStep(max_step, max_differing)",
        )
    kind = (int, np.integer) if isinstance(policy, spec.IntStep) else (float, int, np.number)
    if not all(isinstance(n, kind) and n >= 0 for n in numbers):
        raise BmcError("bad-spec", f"{policy} has an invalid number", hint="all must be 0 or more")
    if cosine is not None and cosine > 1:
        raise BmcError("bad-spec", f"{policy} has a min_cosine beyond 1", hint="give 0 to 1")
    if isinstance(policy, spec.Tolerance):
        return spec.Tolerance(
            float(policy.atol), float(policy.rtol), None if cosine is None else float(cosine)
        )
    if isinstance(policy, spec.IntStep):
        return spec.IntStep(int(policy.max_step), int(policy.max_differing))
    return spec.Exact()


def require_fit(policy: spec.Policy, dtype: DType, output: str) -> None:
    """Raises BmcError if a policy is for another type of number, or beyond the numbers in which the firmware has it.

    Args:
      policy: what checked() returned.
      dtype: element type of the output.
      output: what the error calls it.
    """
    if isinstance(policy, spec.Tolerance) and not dtype.is_float:
        raise BmcError(
            "bad-spec",
            f"a float tolerance is given for output {output}",
            hint="use Exact or IntStep",
        )
    if isinstance(policy, spec.Tolerance) and not (
        max(policy.atol, policy.rtol) <= answers.LARGEST_TOLERANCE
    ):
        raise BmcError(
            "bad-spec",
            f"{policy} of output {output} has a number beyond f32, in which the firmware has it",
            hint="give an atol of 0, and the fraction that is allowed as rtol",
        )
    if isinstance(policy, spec.IntStep) and dtype.is_float:
        raise BmcError(
            "bad-spec",
            f"IntStep is given for output {output}",
            hint="use Tolerance or Exact",
        )
    if isinstance(policy, spec.IntStep) and not (
        0 <= policy.max_step < 2**32 and 0 <= policy.max_differing < 2**32
    ):
        raise BmcError(
            "bad-spec",
            f"{policy} of output {output} has a number outside 0 to 2^32 - 1",
        )


def to_json(policy: spec.Policy) -> dict[str, Any]:
    return {"kind": type(policy).__name__, **asdict(policy)}


def from_json(data: dict[str, Any], dtype: DType, output: str) -> spec.Policy:
    """Returns the policy of an output.

    Args:
      data: what to_json() returned.
      dtype, output: as for require_fit().

    Raises:
      BmcError: it has a number that no policy for this output has.
      KeyError, OverflowError, TypeError: it is no policy.
    """
    fields = {key: value for key, value in data.items() if key != "kind"}
    kind = str(data["kind"])
    if kind not in _KINDS:
        raise BmcError("bad-spec", f"'{kind}' of output {output} is no kind of tolerance")
    policy = checked(_KINDS[kind](**fields))
    require_fit(policy, dtype, output)
    return policy
