"""A streaming classifier: a GRU that reads one window at a time and remembers earlier ones.

Speech recordings would need a download, so the windows are rows of scikit-learn's digits, with eight
features each and eight per utterance. A small keyword spotter gets slices of a spectrum like this.
"""

from __future__ import annotations

import numpy as np
import sklearn.datasets
import torch

from bmc.spec import Call, Exact, ModelSpec, Tolerance

HELD_OUT = 12
UNITS = 48
EPOCHS = 15
BATCH = 32


class KeywordSpotter(torch.nn.Module):
    """Returns scores of ten classes after every window."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(8, UNITS)
        self.head = torch.nn.Linear(UNITS, 10)
        self.register_buffer("hidden", torch.zeros(1, UNITS))

    def scores(self, windows: torch.Tensor) -> torch.Tensor:
        """Maps f32 [batch, time, 8] to scores f32 [batch, 10] after the last window, for training."""
        hidden = windows.new_zeros(windows.shape[0], UNITS)
        for time in range(windows.shape[1]):
            hidden = self.cell(windows[:, time], hidden)
        return self.head(hidden)

    def step(self, window: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps a window f32 [1, 8] to its class i64 [1] and scores f32 [1, 10]."""
        self.hidden.copy_(self.cell(window, self.hidden))
        scores = self.head(self.hidden)
        return scores.argmax(1), scores


def digits() -> ModelSpec:
    """The import trains the model. The calls stream held-out digits, with a reset before each digit."""
    data = sklearn.datasets.load_digits()
    windows = torch.from_numpy((data.images / 16).astype(np.float32))
    labels = torch.from_numpy(data.target.astype(np.int64))
    torch.manual_seed(0)
    model = KeywordSpotter()
    _train(model, windows[:-HELD_OUT], labels[:-HELD_OUT])
    calls = [
        Call("step", (window[np.newaxis].numpy(),), reset=index == 0)
        for utterance in windows[-HELD_OUT:]
        for index, window in enumerate(utterance)
    ]
    return ModelSpec(model, (), (Exact(), Tolerance(atol=1e-4, rtol=1e-4)), calls=tuple(calls))


def _train(model: KeywordSpotter, windows: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    order = torch.Generator().manual_seed(0)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(windows), generator=order).split(BATCH):
            loss = torch.nn.functional.cross_entropy(model.scores(windows[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
