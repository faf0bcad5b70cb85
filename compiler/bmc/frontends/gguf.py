"""Imports a .gguf file with a language model, by a module in PyTorch whose weights stay as the file packs them."""

from __future__ import annotations

import importlib.metadata
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmc import artifacts, golden, installing, names, progress, spec
from bmc.artifacts import GoldenCall, ImportedModel
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.frontends import prompts, user_cases
from bmc.frontends import torch as torch_frontend
from bmc.frontends.options import ImportOptions
from bmc.frontends.prompts import Sizes
from bmc.frontends.survey import Survey
from bmc.golden import Declared

if TYPE_CHECKING:
    from bmc.frontends.gguf_config import Config
    from bmc.frontends.gguf_gpt2 import Config as Gpt2Config
    from bmc.frontends.transformers_generator import Generator

PACKAGES = ("gguf", "torch", "torch-mlir", "transformers")
TOLERANCE = spec.Tolerance(atol=1e-3, rtol=1e-3)


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
    from bmc import gguf_file
    from bmc.frontends import (
        gguf_config,
        gguf_decoder,
        gguf_gpt2,
        gguf_reference,
        gguf_weights,
    )

    if options.quantize:
        raise BmcError(
            "bad-option",
            f"quantize is given for '{path.name}', whose weights stay as they are",
            hint="leave quantize out",
        )
    file = gguf_file.read(path, options.limits)
    weights = gguf_weights.Weights(file)
    config: Config | Gpt2Config
    if gguf_config.architecture(file) == gguf_gpt2.NAME:
        config = gguf_gpt2.read(file)
        sizes = _sizes(options, config, path.name)
        module, divisors = gguf_gpt2.Gpt2(config, weights, sizes.context), None
    else:
        config = gguf_config.read(file)
        sizes = _sizes(options, config, path.name)
        module = gguf_decoder.Decoder(config, weights, sizes.context)
        divisors = gguf_decoder.divisors(config, weights)
    progress.begin(progress.GOLDEN)
    reference = gguf_reference.load(path, config.for_transformers(), divisors)
    given = user_cases.of_file(replace(options, inputs=None))
    cases = [prompts.of_case(case, sizes) for case in given.cases] or [prompts.made_up(sizes)]
    calls = tuple(call for prompt in cases for call in prompts.calls(prompt, reference, sizes))
    model = spec.ModelSpec(
        module.eval(),
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
    from bmc import gguf_file
    from bmc.frontends import gguf_config, gguf_gpt2

    file = gguf_file.read(path, options.limits)
    is_gpt2 = gguf_config.architecture(file) == gguf_gpt2.NAME
    config = gguf_gpt2.read(file) if is_gpt2 else gguf_config.read(file)
    sizes = _sizes(options, config, path.name)
    return Survey(
        inputs=(
            Declared("tokens", DType.I64, (sizes.tokens,)),
            Declared("token", DType.I64, (1,)),
        )
    )


def _require_packages() -> None:
    # transformers would load it wherever it is installed, which takes seconds.
    os.environ["USE_TF"] = "0"
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


def _sizes(options: ImportOptions, config: Config | Gpt2Config, name: str) -> Sizes:
    context = options.context or min(config.context, prompts.DEFAULT_CONTEXT)
    if context > config.context:
        raise BmcError(
            "bad-option",
            f"a context of {context} tokens is asked of '{name}', which was made for {config.context}",
            hint="give a smaller one",
        )
    shape = options.shapes.get("tokens", (min(prompts.DEFAULT_TOKENS, context),))
    if set(options.shapes) - {"tokens"} or len(shape) != 1 or shape[0] > context:
        raise BmcError(
            "bad-option",
            f"shapes are given that '{name}' cannot have",
            hint=f"tokens alone has a shape, of one number up to the context of {context}",
        )
    return Sizes(context, shape[0], config.vocabulary)


def _policies(tolerance: spec.Policy | tuple[spec.Policy, ...]) -> tuple[spec.Policy, ...]:
    """Returns the policies of tokens and logits of both entry points, given that of logits, or those of both."""
    pair = tolerance if isinstance(tolerance, tuple) else (spec.Exact(), tolerance)
    return (*pair, *pair)


def _judged(
    imported: ImportedModel, calls: tuple[spec.Call, ...], reference: Generator
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


def _first(reference: Generator) -> Any:
    def answer(case: spec.Case) -> spec.Case:
        reference.reset()
        return reference.call(case[0])

    return answer


def _notes(unpacked: list[str]) -> tuple[str, ...]:
    if not unpacked:
        return ()
    first = names.brief(names.printable(unpacked[0]), 100)
    return (
        f"{len(unpacked)} quantized tensors are stored as f32, because bmc packs none of their type: '{first}' is"
        " the first.",
    )
