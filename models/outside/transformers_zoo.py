"""Models of transformers with random weights, in configurations of 2 to 4 small layers."""

from __future__ import annotations

import numpy as np
import torch
import transformers

from bmc.spec import ModelSpec
from models.outside.support import WORDS, Chosen, language, pictures, specification

TOKENS = 32
# The spread that training ends with. With the default, attention cannot tell tokens apart.
SPREAD = 0.1


def distilbert() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(
        vocab_size=WORDS,
        dim=128,
        hidden_dim=512,
        n_layers=2,
        n_heads=4,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    return language(transformers.DistilBertModel(config), "last_hidden_state", TOKENS)


def gpt2() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_embd=128,
        n_layer=2,
        n_head=4,
        n_positions=64,
        use_cache=False,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    return language(transformers.GPT2LMHeadModel(config), "logits", TOKENS)


def llama() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=344,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    return language(transformers.LlamaForCausalLM(config), "logits", TOKENS)


def albert() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.AlbertConfig(
        vocab_size=WORDS,
        embedding_size=64,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    return language(transformers.AlbertModel(config), "last_hidden_state", TOKENS)


def mobilebert() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.MobileBertConfig(
        vocab_size=WORDS,
        num_hidden_layers=2,
        # With more, activations grow with each layer: its normalizations do not divide.
        initializer_range=0.06,
        attn_implementation="eager",
    )
    return language(transformers.MobileBertModel(config), "last_hidden_state", TOKENS)


def t5_encoder() -> ModelSpec:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=WORDS, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4, use_cache=False
    )
    return language(transformers.T5EncoderModel(config), "last_hidden_state", TOKENS)


def segformer() -> ModelSpec:
    """SegFormer-B0 with one block in each stage instead of two."""
    torch.manual_seed(0)
    config = transformers.SegformerConfig(
        depths=[1, 1, 1, 1], num_labels=16, initializer_range=SPREAD
    )
    model = transformers.SegformerForSemanticSegmentation(config)
    return specification(Chosen(model, "pixel_values", "logits"), pictures(1, 64, seed=1).numpy())


def swin() -> ModelSpec:
    """Swin with half of Swin-Tiny's channels and two stages instead of four."""
    torch.manual_seed(0)
    config = transformers.SwinConfig(
        image_size=64,
        patch_size=4,
        embed_dim=48,
        depths=[2, 2],
        num_heads=[3, 6],
        window_size=4,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    model = transformers.SwinModel(config)
    return specification(
        Chosen(model, "pixel_values", "last_hidden_state"), pictures(1, 64, seed=1).numpy()
    )


def wav2vec2() -> ModelSpec:
    """Wav2Vec2 with convolutions of 64 channels and 2 layers; it hears a quarter of a second."""
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        conv_dim=(64,) * 7,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        initializer_range=SPREAD,
        attn_implementation="eager",
    )
    model = transformers.Wav2Vec2Model(config)
    sound = np.random.default_rng(1).standard_normal((1, 4000)).astype(np.float32)
    return specification(Chosen(model, "input_values", "last_hidden_state"), sound)
