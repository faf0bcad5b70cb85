"""A small decoder-only transformer over bytes, with a KV cache, trained on English text.

The text is the dataset descriptions that come with scikit-learn.
"""

from __future__ import annotations

from importlib import resources

import torch
from torch.nn import functional

from bmc.spec import Array

VOCABULARY = 128  # ASCII
WIDTH = 64
HEADS = 4
LAYERS = 2
CONTEXT = 64
STEPS = 2000
BATCH = 12


class Block(torch.nn.Module):
    """Attention over earlier tokens, then two fully connected layers, with layer norm before both."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("keys", torch.zeros(CONTEXT, WIDTH))
        self.register_buffer("values", torch.zeros(CONTEXT, WIDTH))

    def attend(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Takes q f32 [..., new, WIDTH], k and v f32 [..., seen, WIDTH], mask bool [new, seen]."""

        def heads(x: torch.Tensor) -> torch.Tensor:
            return x.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(-2, -3)

        scores = heads(q) @ heads(k).transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        return self.out((weights @ heads(v)).transpose(-2, -3).flatten(-2))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Runs without a cache, for training."""
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        return self._feed(x + self.attend(q, k, v, mask))

    def cached(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Takes x f32 [new, WIDTH] at `places` i64 [new]; adds their keys and values to the cache."""
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        self.keys.index_copy_(0, places, k)
        self.values.index_copy_(0, places, v)
        mask = torch.arange(CONTEXT) <= places[:, None]
        return self._feed(x + self.attend(q, self.keys, self.values, mask))

    def _feed(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(torch.nn.Module):
    """Predicts the byte after each byte."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.register_buffer("length", torch.zeros(1, dtype=torch.int64))
        for embedding in (self.tokens, self.places):
            torch.nn.init.normal_(embedding.weight, std=0.02)

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Maps i64 [batch, time] to f32 [batch, time, VOCABULARY], for training."""
        time = tokens.shape[1]
        mask = torch.ones(time, time).tril().bool()
        x = self.tokens(tokens) + self.places(torch.arange(time))
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) @ self.tokens.weight.T

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes the prompt, i64 [time]; returns the same as decode()."""
        return self._continue(tokens)

    def decode(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps i64 [1] to the likeliest next token i64 [1] and logits f32 [1, VOCABULARY]."""
        return self._continue(token)

    def _continue(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = self.length + torch.arange(tokens.shape[0])
        x = self.tokens(tokens) + self.places(places)
        for block in self.blocks:
            x = block.cached(x, places)
        self.length.add_(tokens.shape[0])
        logits = self.norm(x[-1:]) @ self.tokens.weight.T
        return logits.argmax(1), logits


def trained() -> list[Array]:
    """Trains the model; returns its weights."""
    torch.manual_seed(0)
    model = Decoder()
    _train(model, _corpus())
    return [weight.numpy() for weight in model.state_dict().values()]


def _corpus() -> torch.Tensor:
    folder = resources.files("sklearn.datasets") / "descr"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".rst")), key=lambda f: f.name)
    data = b"\n".join(file.read_bytes() for file in files)
    return torch.tensor([byte for byte in data if byte < VOCABULARY])


def _train(model: Decoder, corpus: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, STEPS)
    for _ in range(STEPS):
        starts = torch.randint(len(corpus) - CONTEXT - 1, (BATCH,))
        batch = torch.stack([corpus[start : start + CONTEXT + 1] for start in starts])
        loss = functional.cross_entropy(
            model.logits(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
