"""What an export needs besides to be an image that boots in QEMU and checks itself.

Startup, HAL, linker script and main are the files that Ironcast's own images are made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from bmc.errors import BmcError
from bmc.export.models import Model
from bmc.target import PlanIsa, Target

_TEMPLATES = Path(__file__).parent / "templates"
# The sources; runtime_sources.bzl puts them there.
_FIRMWARE = Path(__file__).parent / "firmware"
_SECTIONS = "runtime_bm/crt/link/sections.ld.S"
_BOARDS = {32: "qemu_virt_rv32", 64: "qemu_virt_rv64"}
# Megabytes, as in memory.ldh.
_MEMORY = {32: 256, 64: 512}

# Where all of it is in the folder.
_PLACE = "firmware"

# What make and CMake read besides.
_BUILD_FILES = ("firmware.cmake", "firmware.mk", "toolchain.cmake")

# Extensions that QEMU does not know.
_NOT_IN_QEMU = PlanIsa.P | PlanIsa.ZVDOT4A8I | PlanIsa.XSMTVDOT
# Extensions beyond V, by QEMU's names too.
_HALVES = ("zfbfmin", "zvfbfmin", "zvfbfwma", "zfh", "zvfh")

_NOT_COMPLETE = "not-complete"


def files(
    models: Sequence[Model], devices: Sequence[str], values: Mapping[str, str]
) -> dict[str, str | Path]:
    """Returns text, or the path of a file to copy, by place in the folder.

    Args:
      models: one or more for the same ISA.
      devices: what their kernel libraries drive.
      values: what the templates' @NAMES@ stand for.

    Raises:
      BmcError: QEMU's virt machine cannot run the models, or the files are not here.
    """
    isa = models[0].target
    if isa.isa_bits & _NOT_IN_QEMU or devices:
        what = f"the device {devices[0]}" if devices else isa.isa
        raise BmcError(
            _NOT_COMPLETE,
            f"a complete export boots in QEMU's virt machine, which has no {what}",
            hint="leave out --complete and add your own startup code",
        )
    board = _BOARDS[isa.xlen]
    result: dict[str, str | Path] = {
        f"{_PLACE}/link/{Path(place).name}": _FIRMWARE / place
        for place in (_SECTIONS, f"boards/{board}/memory.ldh")
    }
    sources = _sources(board)
    result |= {f"{_PLACE}/src/{place}": _FIRMWARE / place for place in sources}
    for model in models:
        for name, path in model.golden_files().items():
            place = f"{_PLACE}/src/{model.name}/{name}"
            result[place] = path
            if path.suffix == ".S":
                text = path.read_text(encoding="utf-8")
                result[place] = text.replace('.incbin "', f'.incbin "{model.name}/')
    compiled = [f"{_PLACE}/src/{place}" for place in sources if place.endswith((".c", ".S"))]
    more = {
        "FIRMWARE_LIBGCC": "",
        "FIRMWARE_QEMU": " ".join(qemu_arguments(isa)),
        "FIRMWARE_BITS": str(isa.xlen),
        "FIRMWARE_SOURCES": " \\\n  ".join(compiled),
        "FIRMWARE_CMAKE_SOURCES": "\n".join(f"  {place}" for place in compiled),
    }
    if isa.xlen == 32:
        result[f"{_PLACE}/libgcc.a"] = _libgcc()
        more["FIRMWARE_LIBGCC"] = f"{_PLACE}/libgcc.a"
    every = {**values, **more}
    for name in _BUILD_FILES:
        template = (_TEMPLATES / f"{name}.in").read_text(encoding="utf-8")
        result[f"{_PLACE}/{name}"] = re.sub("@([A-Z_]+)@", lambda match: every[match[1]], template)
    result[f"{_PLACE}/src/firmware.c"] = _firmware_c(models, board)
    return result


def _sources(board: str) -> list[str]:
    """Returns sources and headers: what is common to the boards, and this one's."""
    paths = (path.relative_to(_FIRMWARE).as_posix() for path in _FIRMWARE.rglob("*.[chS]"))
    others = tuple(f"boards/{other}/" for other in _BOARDS.values() if other != board)
    return sorted(p for p in paths if p != _SECTIONS and not p.startswith(others))


def _libgcc() -> Path:
    """Returns functions that C for 32 bits calls, of doubles for example."""
    found: tuple[Path, ...] = ()
    if find_spec("bmc.libcalls") is not None:
        from bmc import libcalls

        found = libcalls.archives("rv32imac")
    if not found:
        raise BmcError(
            _NOT_COMPLETE,
            "a complete export for 32 bits has libgcc in it, and this copy of bmc lacks it",
            hint="use the wheel, or X.export of a workspace",
        )
    return found[-1]


def qemu_arguments(isa: Target) -> tuple[str, ...]:
    """Returns QEMU's arguments for a machine that runs the kernels; `-kernel IMAGE` comes behind them."""
    words = (
        f"-machine virt -m {_MEMORY[isa.xlen]}M -bios none -nographic -monitor none -icount shift=0"
    )
    return (*words.split(), "-cpu", _cpu(isa))


def _cpu(isa: Target) -> str:
    """Returns QEMU's name of a hart with the extensions of an ISA and no longer vectors than it needs."""
    # With all of V, because QEMU cannot turn on the vectors of a hart with Zve32f alone. With F where the ISA has none:
    # what it takes to leave that out differs between versions of QEMU.
    vectors = f",v=true,vext_spec=v1.0,vlen={isa.vlen_bits},elen=64" if isa.vlen_bits else ""
    halves = "".join(f",{each}=true" for each in _HALVES if each in isa.extensions)
    return f"rv{isa.xlen}{vectors}{halves}"


def _firmware_c(models: Sequence[Model], board: str) -> str:
    """Returns the table of the image's models (runtime_bm/app/firmware.h)."""

    def lines(template: str, of: Sequence[Model] = models) -> str:
        return "".join(
            template.format(
                name=model.name,
                upper=model.name.upper(),
                code=f"{{{model.name}_code, sizeof({model.name}_code)}}"
                if model.is_loaded
                else "{NULL, 0}",
            )
            for model in of
        )

    return (
        '// Generated: the models of this image.\n#include "runtime_bm/app/firmware.h"\n\n'
        + lines('#include "{name}.h"\n')
        + "\nstatic union {\n"
        + lines("  uint8_t BM_ALIGNED {name}[{upper}_ARENA_BYTES];\n")
        + "} arena BM_FIRMWARE_ARENA;\n"
        "const bm_span_t bm_firmware_arena = {(uint8_t *)&arena, sizeof(arena)};\n"
        + lines(
            "static uint8_t {name}_code[{upper}_CODE_BYTES] BM_FIRMWARE_CODE;\n",
            [model for model in models if model.is_loaded],
        )
        + "\nconst bm_firmware_model_t bm_firmware_models[] = {\n"
        + lines('    {{"{name}", &{name}_plan, {code}}},\n')
        + f"}};\nconst uint32_t bm_firmware_model_count = {len(models)};\n\n"
        + lines("extern const bm_golden_t {name}_golden;\n")
        + "const bm_golden_t *const bm_firmware_goldens[] = {\n"
        + lines("    &{name}_golden,\n")
        + f'}};\n\nconst char bm_firmware_board[] = "{board}";\n'
        f'const char bm_firmware_isa[] = "{models[0].target.isa}";\n'
        "const bm_device_use_function_t bm_firmware_devices[] = {NULL};\n"
    )
