"""A question to SmolLM2, as tokens."""

from __future__ import annotations

import numpy as np

from bmc.spec import Cases, Tolerance

# <|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n
_QUESTION = (1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198)


def question() -> Cases:
    """The answer begins with "The capital of France"."""
    return Cases(((np.array(_QUESTION, np.int64),),), Tolerance(atol=2e-3, rtol=1e-3))
