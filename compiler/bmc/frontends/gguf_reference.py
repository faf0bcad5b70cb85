"""The reference of .gguf files: transformers computes with the weights in f32, by its own reading of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import modeling_gguf_pytorch_utils, modeling_utils

from bmc import factory
from bmc.errors import BmcError
from bmc.frontends import quiet
from bmc.frontends.transformers_generator import Generator
from bmc.gguf_file import bad


def load(path: Path, known: dict[str, int], frequency_divisors: torch.Tensor | None) -> Generator:
    """Loads a file that gguf_file.read() has checked.

    Args:
      path: the file.
      known: settings that transformers takes from keys that a file need not have.
      frequency_divisors: f32 [head_width / 2], which transformers does not read from such files; None for a model
        without frequencies.

    Raises:
      BmcError: transformers cannot read it, or finds another set of weights in it.
    """
    try:
        model = _model(path, known)
    except BmcError:
        raise
    except Exception as error:
        raise bad(
            path.name, f"is not what transformers expects: {factory.first_line(error)}"
        ) from error
    if frequency_divisors is not None:
        model.model.rotary_emb.inv_freq /= frequency_divisors
    return Generator(model)


def _model(path: Path, known: dict[str, int]) -> Any:
    settings = _load(path)["config"] | known
    kind = settings.pop("model_type")
    # Random weights would take longer than all else here.
    with modeling_utils.no_init_weights():
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(kind, **settings), attn_implementation="eager"
        ).eval()
    found = _load(path, return_tensors=True, model_to_load=model)["tensors"]
    missing, unknown = model.load_state_dict(found, strict=False)
    model.tie_weights()
    missing = [name for name in missing if name != "lm_head.weight"]
    if missing or unknown:
        raise bad(
            path.name, f"has other weights than transformers expects: {(missing + unknown)[0]}"
        )
    return model


def _load(path: Path, **options: Any) -> dict[str, Any]:
    with quiet.python():
        found: dict[str, Any] = modeling_gguf_pytorch_utils.load_gguf_checkpoint(
            str(path), **options
        )
    return found
