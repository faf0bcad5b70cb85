"""State in PyTorch: entry points share buffers, and one buffer is updated at a position from another."""

from __future__ import annotations

import numpy as np
import torch

from bmc.spec import Call, Exact, ModelSpec, Tolerance


class Memory(torch.nn.Module):
    """A recurrent cell with a ring of its last states."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = torch.nn.GRUCell(8, 16)
        self.register_buffer("hidden", torch.linspace(-1, 1, 16).reshape(1, 16))
        self.register_buffer("ring", torch.zeros(6, 16))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def step(self, x: torch.Tensor) -> torch.Tensor:
        """Maps f32 [1, 8] to the sum of the ring, f32 [16]."""
        hidden = self.cell(x, self.hidden)
        self.ring.index_copy_(0, self.position, hidden)
        self.position.copy_((self.position + 1) % 6)
        self.hidden.copy_(hidden)
        return self.ring.sum(0)

    def peek(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the hidden state f32 [1, 16] and the position i64 [1]; changes nothing."""
        return self.hidden, self.position


def memory() -> ModelSpec:
    rng = np.random.default_rng(0)
    steps = [Call("step", (rng.standard_normal((1, 8)).astype(np.float32),)) for _ in range(8)]
    calls = (*steps[:7], Call("peek", ()), Call("peek", (), reset=True), steps[7], Call("peek", ()))
    close = Tolerance(atol=1e-5, rtol=1e-5)
    return ModelSpec(Memory(), (), (close, close, Exact()), calls=calls)
