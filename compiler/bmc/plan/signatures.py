"""Compares what an entry point was compiled to with what the import says about it."""

from __future__ import annotations

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.host.program import HostFunction, View


def check(declared: Signature, compiled: HostFunction) -> None:
    """Checks that an entry point has the tensors that its signature declares.

    IREE may call i8 what the model calls u8, and nothing else.

    Raises:
      BmcError: it has others.
    """

    def form(dtype: DType, shape: tuple[int, ...]) -> tuple[int, bool, tuple[int, ...]]:
        return dtype.byte_count, dtype.is_float, shape

    def differ(infos: tuple[TensorInfo, ...], views: tuple[View, ...]) -> bool:
        return [form(t.dtype, t.shape) for t in infos] != [form(v.dtype, v.shape) for v in views]

    for infos, views in ((declared.inputs, compiled.inputs), (declared.outputs, compiled.outputs)):
        if differ(infos, views):
            found = ", ".join("x".join(map(str, (*v.shape, v.dtype.name.lower()))) for v in views)
            raise BmcError(
                "bad-signature",
                f"{declared.name} declares ({', '.join(info.describe() for info in infos)}) but was"
                f" compiled to ({found})",
            )
