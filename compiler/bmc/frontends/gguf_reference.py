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
from bmc.frontends.gguf_config import Config
from bmc.frontends.gguf_file import bad
from bmc.frontends.transformers_generator import Generator


def load(path: Path, config: Config, frequency_divisors: torch.Tensor) -> Generator:
    """Loads a file that gguf_file.read() has checked.

    Args:
      path: the file.
      config: what it says.
      frequency_divisors: f32 [head_width / 2], which transformers does not read from such files.

    Raises:
      BmcError: transformers cannot read it, or finds another set of weights in it.
    """
    try:
        model = _model(path, config)
    except BmcError:
        raise
    except Exception as error:
        raise bad(
            path.name, f"is not what transformers expects: {factory.first_line(error)}"
        ) from error
    model.model.rotary_emb.inv_freq /= frequency_divisors
    return Generator(model)


def _model(path: Path, config: Config) -> Any:
    # What transformers takes from keys that a file need not have.
    known = {
        "vocab_size": config.vocabulary,
        "head_dim": config.head_width,
        "query_pre_attn_scalar": config.head_width,  # of Gemma
    }
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
