"""The BUILD lines for a model: what stands between it and an image that boots in an emulator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bmc.frontends.options import INT8
from bmc.target import Target

_LOADS = """\
load("@pypi//:requirements.bzl", "requirement")
load("//tools/rules:defs.bzl", "bm_firmware", "bm_model")
"""
# What the model.py of a frontend imports. The framework of a file needs not be named.
_PACKAGES = {"keras": ("keras", "tensorflow"), "jax": ("jax",), "torch": ("torch", "torch-mlir")}
# The same if the build quantizes to int8: TensorFlow Lite imports what Keras quantizes.
_INT8_PACKAGES = {
    "tflite": ("ai-edge-litert", "keras", "tensorflow", "tosa-converter-for-tflite"),
    "torch": (*_PACKAGES["torch"], "torchao"),
}
# Instruction sets with instructions that only Spike learns, and its environments for them.
_SPIKE = {
    "rv64gcp": "packed",
    "rv64gcv_zvl256b_xsmtvdot": "xsmtvdot_vlen256",
    "rv64gcv_zvl256b_zvdot4a8i": "zvdot4a8i_vlen256",
}


@dataclass(frozen=True)
class ModelLines:
    """What a bm_model says.

    Attributes:
      source: the model as the user names it.
      frontend: the frontend that imports it.
      shapes, constants: its attributes of these names.
      quantize: int8, f16 or nothing.
      context: how many tokens a .gguf file's model remembers; 0: the default.
    """

    source: str
    frontend: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    quantize: str = ""
    context: int = 0

    @property
    def _is_factory(self) -> bool:
        return ".py:" in self.source

    @property
    def _path(self) -> Path:
        return Path(self.source.rpartition(":")[0] if self._is_factory else self.source)

    @property
    def name(self) -> str:
        """A name that is a target's and a C prefix."""
        stem = self.source.rpartition(":")[2] if self._is_factory else self._path.resolve().stem
        name = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")
        return name if re.match("[a-z]", name) else f"model_{name}".rstrip("_")

    def text(self, target: Target) -> str:
        """Returns the lines of a BUILD file with the model and an image."""
        return "\n".join((self._loads(), *self._files(), self._model(), self._firmware(target)))

    def _loads(self) -> str:
        first, second = _LOADS.splitlines(keepends=True)
        return (first if self._deps() else "") + second

    def _deps(self) -> tuple[str, ...]:
        packages = _INT8_PACKAGES if self.quantize == INT8 else _PACKAGES
        return packages.get(self.frontend, ()) if self._is_factory else ()

    def _files(self) -> tuple[str, ...]:
        if not self._path.is_dir():
            return ()
        pattern = f"{self._path.resolve().name}/**"
        return (
            _rule(
                "filegroup", name=_quoted(f"{self.name}_files"), srcs=f"glob([{_quoted(pattern)}])"
            ),
        )

    def _model(self) -> str:
        is_folder = self._path.is_dir()
        src = f":{self.name}_files" if is_folder else self._path.name
        attributes = {"name": self.name, "src": src}
        if self._is_factory:
            attributes["factory"] = self.source.rpartition(":")[2]
        if self.quantize:
            attributes["quantize"] = self.quantize
        lines = {key: _quoted(value) for key, value in attributes.items()}
        if self.context:
            lines["context"] = str(self.context)
        if self.constants:
            lines["constants"] = constants(self.constants)
        if self.shapes:
            lines["shapes"] = shapes(self.shapes)
        if self._deps():
            lines["deps"] = _list([f"requirement({_quoted(name)})" for name in self._deps()])
        return _rule("bm_model", **lines)

    def _firmware(self, target: Target) -> str:
        board, env = _board(target)
        return _rule(
            "bm_firmware",
            name=_quoted(f"{self.name}_firmware"),
            board=_quoted(f"//boards/{board}"),
            isa=_quoted(target.isa),
            models=f"[{_quoted(':' + self.name)}]",
            run_env=_quoted(f"//boards/{board}:{env}"),
        )


def shapes(given: Mapping[str, tuple[int, ...]]) -> str:
    """Returns the value of bm_model's `shapes`."""
    return _dict({name: f"[{', '.join(map(str, shape))}]" for name, shape in given.items()})


def constants(given: Mapping[str, float]) -> str:
    """Returns the value of bm_model's `constants`."""
    return _dict(
        {name: f"{value:g}" if value % 1 else str(int(value)) for name, value in given.items()}
    )


def _board(target: Target) -> tuple[str, str]:
    """Returns a board of an emulator, and its environment for an instruction set."""
    if not target.is_riscv:
        return "host_x86_64", "native"
    if target.isa in _SPIKE:
        return "spike_rv64", _SPIKE[target.isa]
    # What is between the letters and VLEN is also in the names of environments.
    more = target.isa.partition("v_")[2].partition("zvl")[0].rstrip("_")
    vectors = f"vlen{target.vlen_bits}" + (f"_{more}" if more else "")
    return f"qemu_virt_rv{target.xlen}", vectors if target.vlen_bits else "scalar"


def _rule(rule: str, **attributes: str) -> str:
    lines = [f"    {name} = {value}," for name, value in attributes.items()]
    return "\n".join((f"{rule}(", *lines, ")\n"))


def _dict(items: Mapping[str, str]) -> str:
    if len(items) == 1:
        ((name, value),) = items.items()
        return f"{{{_quoted(name)}: {value}}}"
    lines = [f"        {_quoted(name)}: {value}," for name, value in items.items()]
    return "\n".join(("{", *lines, "    }"))


def _list(items: list[str]) -> str:
    if len(items) == 1:
        return f"[{items[0]}]"
    return "\n".join(("[", *(f"        {item}," for item in items), "    ]"))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
