"""Reads a .pt2 file as data.

torch.export.load() executes parts of a file: pickled objects, and Python text that it compiles. Here the
archive's members are read by name, pickles only through torch's own allow-list, and the program only after
torch_schema.py has found nothing but data in it. PyTorch itself never opens the file.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

from bmc import limits
from bmc.frontends import torch_schema
from bmc.frontends.torch_schema import unsafe
from bmc.limits import Limits

# Names that torch.export.save() writes: those of PyTorch 2.13, then those of older versions.
_PROGRAMS = ("models/model.json", "serialized_exported_program.json")
_STATES = ("data/weights/model.pt", "serialized_state_dict.pt")
_CONSTANTS = ("data/constants/model.pt", "serialized_constants.pt")
# Not read, but valid members. Example inputs are pickled and not needed.
_LEFT_OUT = (
    ".data/",
    "archive_format",
    "archive_version",
    "byteorder",
    "data/sample_inputs/",
    "extra/",
    "extra_files/",
    "serialized_example_inputs.pt",
    "version",
)
_FOLDERS = ("data/weights/", "data/constants/")


def load(path: Path, allowed: Limits = limits.DEFAULT) -> Any:
    """Returns the torch.export.ExportedProgram in a file.

    Raises:
      BmcError: part of the file would be executed instead of read, or a tensor has more bytes than `allowed`; the error
        names it.
      Exception: anything else is wrong with the file.
    """
    from torch._export.serde import schema
    from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass

    with zipfile.ZipFile(path) as archive:
        members = _members(archive, path)
        (program,) = (members[name] for name in _PROGRAMS if name in members)
        document = torch_schema.clean(json.loads(archive.read(program)), path.name)
        tensors = [
            _tensors(archive, members, folder, pickles, path.name, allowed)
            for folder, pickles in zip(_FOLDERS, (_STATES, _CONSTANTS), strict=True)
        ]
    dataclass = _dict_to_dataclass(schema.ExportedProgram, document)
    return ExportedProgramDeserializer().deserialize(dataclass, *tensors)


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Returns the archive's members, with the name of a common folder removed."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    heads = {name.partition("/")[0] for name in names}
    folder = f"{heads.pop()}/" if len(heads) == 1 and "/" in names[0] else ""
    members = {name.removeprefix(folder): info for name, info in zip(names, infos, strict=True)}
    if not any(name in members for name in _PROGRAMS):
        raise ValueError("there is no exported program in it")
    for name in members:
        if not name.startswith((*_LEFT_OUT, *_FOLDERS)) and name not in (
            *_PROGRAMS,
            *_STATES,
            *_CONSTANTS,
        ):
            raise unsafe(path.name, f"'{name}', which is not part of an exported program")
    # PyTorch compresses nothing, so reading a file never takes more memory than its size.
    if sum(info.file_size for info in infos) > path.stat().st_size:
        raise unsafe(path.name, "compressed or overlapping members")
    return members


def _tensors(
    archive: zipfile.ZipFile,
    members: dict[str, zipfile.ZipInfo],
    folder: str,
    pickles: tuple[str, ...],
    source: str,
    allowed: Limits,
) -> dict[str, Any]:
    """Returns the state or the constants by name. Tensors that share memory still share it."""
    import torch

    for name in pickles:
        if name in members:
            found = _unpickled(archive.read(members[name]), source, name)
            for key, tensor in found.items():
                _check_size(key, tensor, source, allowed)
            return found
    kind = folder.split("/")[1]
    config = json.loads(archive.read(members[f"{folder}model_{kind}_config.json"]))["config"]
    found = {}
    files: dict[str, Any] = {}
    for name, payload in config.items():
        torch_schema.check_attribute(name, source)
        file, meta = payload["path_name"], payload["tensor_meta"]
        if payload["use_pickle"] or meta is None:
            raise unsafe(source, f"the Python object '{name}' where a tensor should be")
        if file not in files:
            files[file] = _flat(archive.read(members[folder + file]), meta["dtype"])
        sizes, strides = ([i["as_int"] for i in meta[key]] for key in ("sizes", "strides"))
        offset = meta["storage_offset"]["as_int"]
        tensor = torch.as_strided(files[file], sizes, strides, offset)
        _check_size(name, tensor, source, allowed)
        if payload["is_param"]:
            tensor = torch.nn.Parameter(tensor, requires_grad=meta["requires_grad"])
        found[name] = tensor
    return found


def _check_size(name: str, tensor: Any, source: str, allowed: Limits) -> None:
    """Raises BmcError for a tensor that repeats a few bytes until they are too many."""
    needed = math.prod(tensor.shape) * tensor.element_size()
    if needed > allowed.tensor_bytes:
        raise limits.exceeded(
            "tensor_bytes",
            needed,
            f"tensor '{name}' in '{source}' has {needed:,} bytes, more than {allowed.tensor_bytes:,}",
        )


def _flat(data: bytes, dtype: int) -> Any:
    import torch
    from torch._export.serde import schema
    from torch._export.serde.serialize import deserialize_scalar_type

    element = deserialize_scalar_type(schema.ScalarType(dtype))
    return torch.frombuffer(bytearray(data), dtype=element) if data else torch.empty(0).to(element)


def _unpickled(data: bytes, source: str, name: str) -> dict[str, Any]:
    """Reads the pickled dictionary of PyTorch before 2.9, in which only tensors are allowed."""
    import pickle

    import torch

    if not data:
        return {}
    try:
        tensors: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
    except pickle.UnpicklingError:
        raise unsafe(source, f"Python objects in '{name}'") from None
    for key in tensors:
        torch_schema.check_attribute(key, source)
    return tensors
