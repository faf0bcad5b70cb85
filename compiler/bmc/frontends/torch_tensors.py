"""Arrays of NumPy as tensors of PyTorch, and the other way round: PyTorch knows no bfloat16 of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array, DType


def tensor(array: Array) -> Any:
    """Returns a torch.Tensor with the array's memory.

    Raises:
      TypeError: PyTorch has no such element type.
    """
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(tensor: Any) -> Array:
    """Returns the numbers of a dense torch.Tensor on the CPU, in its memory if they follow each other there.

    Raises:
      TypeError: NumPy has no such element type.
    """
    import torch

    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        found: Array = tensor.view(torch.int16).numpy().view(DType.BF16.numpy)
        return found
    return np.asarray(tensor.numpy())
