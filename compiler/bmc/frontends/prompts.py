"""What a language model is checked on: the calls that give it a prompt, and then what it generates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bmc import spec
from bmc.errors import BmcError

# Tokens that a model remembers if nobody says how many.
DEFAULT_CONTEXT = 512
# Tokens that prefill takes at a time.
DEFAULT_TOKENS = 16
# Tokens that are generated after a prompt.
_GENERATED = 4
# A generated token is given back only if its logit is so far above all others that rounding decides nothing.
_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a language model.

    Attributes:
      context: how many tokens it remembers.
      tokens: how many prefill takes at a time.
      vocabulary: how many tokens there are.
    """

    context: int
    tokens: int
    vocabulary: int


class Model(Protocol):
    """A model in its framework."""

    def reset(self) -> None: ...

    def call(self, tokens: spec.Array) -> spec.Case:
        """Takes further tokens, i64 [n]; returns the likeliest next one, i64 [1], and logits f32 [1, vocabulary]."""


def made_up(sizes: Sizes) -> spec.Array:
    """Returns random tokens, of which prefill leaves one to decode."""
    count = min(sizes.tokens + 1, sizes.context - 1)
    return np.random.default_rng(0).integers(sizes.vocabulary, size=count)


def of_case(case: spec.Case, sizes: Sizes) -> spec.Array:
    """Returns a case as a prompt; raises BmcError if it is none, or too short or long."""
    prompt = np.asarray(case[0]) if len(case) == 1 else np.zeros(0)
    least, most = sizes.tokens, sizes.context - 1
    if prompt.dtype != np.int64 or prompt.ndim != 1 or not least <= len(prompt) <= most:
        raise BmcError(
            "bad-inputs",
            "a case of a language model is not one prompt that fits",
            hint=f"give one array of {least} to {most} tokens, i64",
        )
    if prompt.min() < 0 or prompt.max() >= sizes.vocabulary:
        raise BmcError(
            "bad-inputs", f"a prompt has a token outside the vocabulary of {sizes.vocabulary}"
        )
    return prompt


def calls(prompt: spec.Array, model: Model, sizes: Sizes) -> tuple[spec.Call, ...]:
    """Returns the calls: prefill takes whole pieces of the prompt, decode the rest and what is generated."""
    whole = len(prompt) // sizes.tokens * sizes.tokens
    made = [spec.Call("prefill", (piece,)) for piece in prompt[:whole].reshape(-1, sizes.tokens)]
    made += [spec.Call("decode", (token,)) for token in prompt[whole:].reshape(-1, 1)]
    made[0] = replace(made[0], reset=True)
    model.reset()
    token, logits = model.call(prompt)
    for _ in range(min(_GENERATED, sizes.context - len(prompt))):
        highest = np.sort(logits[0])[-2:]
        if made[-1].entry == "decode" and highest[1] - highest[0] < _MARGIN:
            break
        made.append(spec.Call("decode", (token,)))
        token, logits = model.call(token)
    return tuple(made)
