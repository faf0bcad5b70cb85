"""Names of kernels, which IREE makes, and names that come from model files."""

from __future__ import annotations

# Frontends write locations outside the model's own folder as "<python>/...". They are not the user's lines.
LIBRARY_PREFIX = "<python>/"
# They write the path of a PyTorch module, such as "encoder.layer.0", as the location "<layer>/encoder.0 (Linear)".
LAYER_PREFIX = "<layer>/"
# A PyTorch module that a frontend puts around the author's holds it under this name. Names of layers do not show it.
WRAPPED = "bmc_wrapped"


def printable(text: str) -> str:
    """Returns the text with "?" for every character that does not print as one character of a line.

    A model file may contain any names: with escape sequences, line ends or marks that reverse the order.
    """
    return "".join(c if c.isprintable() else "?" for c in text)


def brief(text: str, most: int = 4000) -> str:
    """Returns a text of at most `most` characters, without the middle of a longer one: a name may have millions."""
    return text if len(text) <= most else f"{text[: most // 2 - 3]} ... {text[-(most // 2 - 2) :]}"


def op_signature(function: str) -> str:
    """Returns "matmul_128x512x128_f32" for "main_dispatch_15_matmul_128x512x128_f32"."""
    head, _, tail = function.partition("_dispatch_")
    number, _, rest = tail.partition("_")
    return rest if head and number.isdigit() and rest else function
