"""Writes small language models as .gguf files, with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind


@dataclass(frozen=True)
class Small:
    """What to write.

    Attributes:
      architecture: a key of gguf_config.FAMILIES.
      linear: how the weights of layers are stored.
      embedding: how the table of tokens is stored.
      layers: how many blocks.
      is_tied: whether that also makes the logits.
      biases: whether queries, keys and values have biases.
      head_norms: whether queries and keys are normalized.
      post_norms: whether also the results of attention and network are normalized.
      frequencies: whether the file changes the frequencies of positions.
      metadata: further keys without the architecture, with numbers or texts.
      extra: a tensor that no such model has, or "".
    """

    architecture: str = "llama"
    linear: Kind = Kind.Q4_1
    embedding: Kind = Kind.Q8_0
    layers: int = 1
    is_tied: bool = True
    biases: bool = False
    head_norms: bool = False
    post_norms: bool = False
    frequencies: bool = False
    metadata: Mapping[str, float | int | str] = field(default_factory=dict)
    extra: str = ""


WIDTH, HIDDEN, HEADS, KEY_HEADS = 64, 96, 4, 2
VOCABULARY, CONTEXT = 300, 1024


def write_gpt2(path: Path, kind: Kind = Kind.Q8_0) -> Path:
    """Writes a GPT-2 of one layer to `path`, and returns that."""
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_block_count(1)
    writer.add_context_length(48)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_name("small")
    random = np.random.default_rng(0)

    def layer(name: str, rows: int, columns: int, has_bias: bool = True) -> None:
        weights = random.normal(0, 1.5 * columns**-0.5, (rows, columns)).astype(np.float32)
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)
        if has_bias:
            writer.add_tensor(f"{name}.bias", random.normal(0, 0.5, rows).astype(np.float32))

    layer("token_embd", VOCABULARY, WIDTH, has_bias=False)
    layer("position_embd", 48, WIDTH, has_bias=False)
    layer("blk.0.attn_qkv", 3 * WIDTH, WIDTH)
    layer("blk.0.attn_output", WIDTH, WIDTH)
    layer("blk.0.ffn_up", HIDDEN, WIDTH)
    layer("blk.0.ffn_down", WIDTH, HIDDEN)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        for part, mean in (("weight", 1), ("bias", 0)):
            values = random.normal(mean, 0.1, WIDTH).astype(np.float32)
            writer.add_tensor(f"{name}.{part}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write(path: Path, model: Small = Small()) -> Path:
    """Writes a model with grouped queries to `path`, and returns that."""
    writer = gguf.GGUFWriter(path, model.architecture)
    writer.add_block_count(model.layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    # transformers reads the name of every file.
    writer.add_name("small")
    for key, value in model.metadata.items():
        name = f"{model.architecture}.{key}"
        if isinstance(value, str):
            writer.add_string(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        else:
            writer.add_float32(name, value)
    random = np.random.default_rng(0)

    def add(name: str, shape: tuple[int, ...], kind: Kind, scale: float, mean: float = 0) -> None:
        values = random.normal(mean, scale, shape).astype(np.float32)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    def matrix(name: str, rows: int, columns: int, kind: Kind = model.linear) -> None:
        add(f"{name}.weight", (rows, columns), kind, 1.5 * columns**-0.5)

    def norm(name: str, size: int = WIDTH) -> None:
        add(f"{name}.weight", (size,), Kind.F32, 0.1, 1)

    head = int(model.metadata.get("attention.key_length", WIDTH // HEADS))
    matrix("token_embd", VOCABULARY, WIDTH, model.embedding)
    norm("output_norm")
    if not model.is_tied:
        matrix("output", VOCABULARY, WIDTH)
    if model.frequencies:
        add("rope_freqs.weight", (head // 2,), Kind.F32, 0.2, 2)
    for layer in range(model.layers):
        name = f"blk.{layer}"
        for part, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
            matrix(f"{name}.attn_{part}", heads * head, WIDTH)
            if model.biases:
                add(f"{name}.attn_{part}.bias", (heads * head,), Kind.F32, 0.5)
            if model.head_norms and part != "v":
                norm(f"{name}.attn_{part}_norm", head)
        matrix(f"{name}.attn_output", WIDTH, HEADS * head)
        matrix(f"{name}.ffn_gate", HIDDEN, WIDTH)
        matrix(f"{name}.ffn_up", HIDDEN, WIDTH)
        matrix(f"{name}.ffn_down", WIDTH, HIDDEN)
        norm(f"{name}.attn_norm")
        norm(f"{name}.ffn_norm")
        if model.post_norms:
            norm(f"{name}.post_attention_norm")
            norm(f"{name}.post_ffw_norm")
    if model.extra:
        norm(model.extra)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
