"""Attention to the tokens that a model has been given, whose keys and values are its state."""

from __future__ import annotations

import torch

# The score of a token that is not seen.
_UNSEEN = -1e30


class Cache(torch.nn.Module):  # type: ignore[misc]
    """Keys and values of a fixed number of tokens; several heads of queries may share one of keys and values."""

    def __init__(self, heads: int, head_width: int, context: int, window: int = 0) -> None:
        """Begins with none.

        Args:
          heads: how many of keys and values.
          head_width: of one.
          context: how many tokens are remembered.
          window: how many of the last ones are seen; 0: all.
        """
        super().__init__()
        self._heads = heads
        self._head_width = head_width
        self._context = context
        self._window = window
        # A head's rows lie together, so that products read them in their order.
        self.register_buffer("keys", torch.zeros(heads * context, head_width))
        self.register_buffer("values", torch.zeros(heads * context, head_width))

    def apart(self, x: torch.Tensor) -> torch.Tensor:
        """Maps f32 [n, heads * head_width] to [heads, n, head_width], for any number of heads."""
        return x.unflatten(-1, (-1, self._head_width)).transpose(0, 1)

    def forward(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, places: torch.Tensor
    ) -> torch.Tensor:
        """Remembers keys and values, f32 [heads, n, head_width], of tokens at `places`, i64 [n].

        Returns what queries, f32 [heads * m, n, head_width], find, as f32 [n, heads * m * head_width].
        """
        count = places.shape[0]
        first = torch.arange(self._heads) * self._context
        rows = (first[:, None] + places).flatten()
        self.keys.index_copy_(0, rows, keys.flatten(0, 1))
        self.values.index_copy_(0, rows, values.flatten(0, 1))
        seen_keys, seen_values = (
            each.unflatten(0, (self._heads, self._context)) for each in (self.keys, self.values)
        )
        # f32 [heads, m * n, head_width]
        shared = queries.unflatten(0, (self._heads, -1)).flatten(1, 2)
        scores = shared @ seen_keys.transpose(1, 2) * self._head_width**-0.5
        ages = places[:, None] - torch.arange(self._context)
        is_seen = ages >= 0
        if self._window:
            is_seen = is_seen & (ages < self._window)
        scores = scores.unflatten(1, (-1, count)).masked_fill(~is_seen, _UNSEEN)
        found = scores.softmax(-1).flatten(1, 2) @ seen_values
        return found.unflatten(1, (-1, count)).flatten(0, 1).transpose(0, 1).flatten(1)
