"""What a model file says of itself before it is imported, for `bmc check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bmc import golden
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends.options import ImportOptions
from bmc.golden import Declared

Rejected = Callable[[ImportOptions], Iterable[BmcError]]


@dataclass(frozen=True)
class Survey:
    """A model file, as far as can be told without running it.

    Attributes:
      inputs: the inputs as declared.
      symbols: the names of dynamic dimensions, by input and axis, where the file has such names.
      switches: inputs of one element that decide which branch of an If is taken, with the values that the file
        compares them with.
      written_out: whether it has layers of which each step is written out, as of Keras's recurrent ones.
      found: all that blocks the import and can be told from the file alone.
      rejected: tries the converter on the model without what was found, and returns all else that it rejects. It takes
        seconds, so nobody calls it for a model that can be imported.
    """

    inputs: tuple[Declared, ...] = ()
    symbols: Mapping[tuple[str, int], str] = field(default_factory=dict)
    switches: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    written_out: bool = False
    found: tuple[BmcError, ...] = ()
    rejected: Rejected | None = None


def not_finite(weights: Mapping[str, Array], bounds: Iterable[str]) -> Iterator[BmcError]:
    """Yields each weight with NaN or Inf; `bounds` are those that ops only compare with others."""
    infinite = set(bounds)
    for name, array in weights.items():
        try:
            golden.check_finite(name, array, is_bound=name in infinite)
        except BmcError as error:
            yield error
