"""Imports a .gguf file with a language model, by a module in PyTorch whose weights stay as the file packs them."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmc import artifacts, golden, installing, names, progress, spec
from bmc.artifacts import GoldenCall, ImportedModel
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.frontends import torch as torch_frontend
from bmc.frontends import user_cases
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey
from bmc.golden import Declared

if TYPE_CHECKING:
    from bmc.frontends.gguf_config import Config
    from bmc.frontends.gguf_reference import Reference

PACKAGES = ("gguf", "torch", "torch-mlir", "transformers")
TOLERANCE = spec.Tolerance(atol=1e-3, rtol=1e-3)
# Tokens that a model remembers if nobody says how many.
DEFAULT_CONTEXT = 512
# Tokens that prefill takes at a time.
DEFAULT_TOKENS = 16
# Tokens that are generated after the prompt of a case.
_GENERATED = 4
# A generated token is part of a golden case only if its logit is so far above all others that rounding decides nothing.
_MARGIN = 0.05


@dataclass(frozen=True)
class _Sizes:
    """How many tokens a model remembers, and how many prefill takes at a time."""

    context: int
    tokens: int


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .gguf file.

    Args:
      path: the file.
      options: the user's options. Each case is a prompt: i64 tokens. Without any, one is made up.
      out: import directory, which must exist.

    Raises:
      BmcError: the file is damaged, its architecture or a tensor of it is not supported, or an option does not fit.
    """
    _require_packages()
    import torch

    from bmc.frontends import gguf_config, gguf_decoder, gguf_file, gguf_reference, gguf_weights

    if options.quantize:
        raise BmcError(
            "bad-option",
            f"quantize is given for '{path.name}', whose weights stay as they are",
            hint="leave quantize out",
        )
    file = gguf_file.read(path, options.limits)
    config = gguf_config.read(file)
    sizes = _sizes(options, config, path.name)
    weights = gguf_weights.Weights(file)
    module = gguf_decoder.Decoder(config, weights, sizes.context).eval()
    divisors = torch.full((config.head_width // 2,), config.rope_divisor)
    if weights.has("rope_freqs.weight"):
        divisors = divisors * weights.vector("rope_freqs.weight", config.head_width // 2)
    progress.begin(progress.GOLDEN)
    reference = gguf_reference.Reference(path, config, divisors)
    given = user_cases.of_file(replace(options, inputs=None))
    prompts = [_prompt(case, config, sizes) for case in given.cases] or [_made_up(config, sizes)]
    calls = tuple(call for prompt in prompts for call in _calls(prompt, reference, sizes))
    model = spec.ModelSpec(
        module,
        (),
        _policies(given.tolerance or TOLERANCE),
        calls=calls,
        ranges=((0, config.vocabulary - 1),) * 2,
    )
    imported = torch_frontend.import_spec(model, f"{path}:model", options, out)
    return replace(
        imported,
        source=path.name,
        frontend="gguf",
        versions={name: importlib.metadata.version(name) for name in PACKAGES},
        golden=_judged(imported, user_cases.of_calls(model, options), reference),
        notes=(*imported.notes, *_notes(weights.unpacked)),
        framework=artifacts.Framework((_first(reference),) * 2, model.ranges),
    )


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Returns the inputs of prefill and decode; raises the errors of import_file() for a file that cannot be read."""
    _require_packages()
    from bmc.frontends import gguf_config, gguf_file

    config = gguf_config.read(gguf_file.read(path, options.limits))
    sizes = _sizes(options, config, path.name)
    return Survey(
        inputs=(
            Declared("tokens", DType.I64, (sizes.tokens,)),
            Declared("token", DType.I64, (1,)),
        )
    )


def _require_packages() -> None:
    try:
        import gguf  # noqa: F401
        import torch  # noqa: F401
        import torch_mlir  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise BmcError(
            "torch-missing",
            f"importing a .gguf file needs the package {error.name}",
            hint=installing.hint(*PACKAGES),
        ) from None


def _sizes(options: ImportOptions, config: Config, name: str) -> _Sizes:
    context = options.context or min(config.context, DEFAULT_CONTEXT)
    if context > config.context:
        raise BmcError(
            "bad-option",
            f"a context of {context} tokens is asked of '{name}', which was made for {config.context}",
            hint="give a smaller one",
        )
    shape = options.shapes.get("tokens", (min(DEFAULT_TOKENS, context),))
    if set(options.shapes) - {"tokens"} or len(shape) != 1 or shape[0] > context:
        raise BmcError(
            "bad-option",
            f"shapes are given that '{name}' cannot have",
            hint=f"tokens alone has a shape, of one number up to the context of {context}",
        )
    return _Sizes(context, shape[0])


def _prompt(case: spec.Case, config: Config, sizes: _Sizes) -> spec.Array:
    """Returns a case as a prompt; raises BmcError if it is none, or too short or long."""
    prompt = np.asarray(case[0]) if len(case) == 1 else np.zeros(0)
    least, most = sizes.tokens, sizes.context - 1
    if prompt.dtype != np.int64 or prompt.ndim != 1 or not least <= len(prompt) <= most:
        raise BmcError(
            "bad-inputs",
            "a case of a .gguf file is not one prompt that fits",
            hint=f"give one array of {least} to {most} tokens, i64",
        )
    if prompt.min() < 0 or prompt.max() >= config.vocabulary:
        raise BmcError(
            "bad-inputs", f"a prompt has a token outside the vocabulary of {config.vocabulary}"
        )
    return prompt


def _made_up(config: Config, sizes: _Sizes) -> spec.Array:
    count = min(sizes.tokens + 1, sizes.context - 1)
    return np.random.default_rng(0).integers(config.vocabulary, size=count)


def _calls(prompt: spec.Array, reference: Reference, sizes: _Sizes) -> list[spec.Call]:
    """Returns the calls that give a model a prompt, and then what it generates."""
    whole = len(prompt) // sizes.tokens * sizes.tokens
    calls = [spec.Call("prefill", (tokens,)) for tokens in prompt[:whole].reshape(-1, sizes.tokens)]
    calls += [spec.Call("decode", (token,)) for token in prompt[whole:].reshape(-1, 1)]
    calls[0] = replace(calls[0], reset=True)
    reference.reset()
    token, logits = reference.call(prompt)
    for _ in range(min(_GENERATED, sizes.context - len(prompt))):
        highest = np.sort(logits[0])[-2:]
        if calls[-1].entry == "decode" and highest[1] - highest[0] < _MARGIN:
            break
        calls.append(spec.Call("decode", (token,)))
        token, logits = reference.call(token)
    return calls


def _policies(tolerance: spec.Policy | tuple[spec.Policy, ...]) -> tuple[spec.Policy, ...]:
    """Returns the policies of tokens and logits of both entry points, given that of logits, or those of both."""
    pair = tolerance if isinstance(tolerance, tuple) else (spec.Exact(), tolerance)
    return (*pair, *pair)


def _judged(
    imported: ImportedModel, calls: tuple[spec.Call, ...], reference: Reference
) -> artifacts.Golden:
    """Returns the golden data with the reference's answers in place of those of the module that is exported."""
    entries = [signature.name for signature in imported.signatures]
    outputs = []
    for call, case in zip(calls, imported.golden.inputs, strict=True):
        if call.reset:
            reference.reset()
        outputs.append(reference.call(case[0]))
    return golden.make_calls(
        calls=tuple(GoldenCall(entries.index(call.entry), call.reset) for call in calls),
        inputs=imported.golden.inputs,
        outputs=tuple(outputs),
        signatures=imported.signatures,
        tolerance=imported.golden.policies,
    )


def _first(reference: Reference) -> Any:
    def answer(case: spec.Case) -> spec.Case:
        reference.reset()
        return reference.call(case[0])

    return answer


def _notes(unpacked: list[str]) -> tuple[str, ...]:
    if not unpacked:
        return ()
    first = names.brief(names.printable(unpacked[0]), 100)
    return (
        f"{len(unpacked)} quantized tensors are stored as f32, because bmc keeps only Q4_0, Q4_1, Q5_0, Q5_1 and"
        f" Q8_0 packed: '{first}' is the first.",
    )
