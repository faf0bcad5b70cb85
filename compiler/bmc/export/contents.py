"""What is in an exported folder: bmc's files, the runtime, and a file for each build system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bmc import target
from bmc.errors import BmcError
from bmc.export import complete
from bmc.export.kernels import KernelLibrary
from bmc.export.models import Model
from bmc.target import PlanIsa, Target

_TEMPLATES = Path(__file__).parent / "templates"
# The runtime's sources; runtime_sources.bzl puts them there.
_RUNTIME = Path(__file__).parent / "runtime"
_MEMORY = "runtime_bm/crt/memory.c"

# Template -> its place in the folder.
_PLACES = {
    "CMakeLists.txt.in": "CMakeLists.txt",
    "Makefile.in": "Makefile",
    "README.md.in": "README.md",
    "library.properties.in": "library.properties",
    "zephyr.cmake.in": "zephyr/CMakeLists.txt",
    "zephyr.kconfig.in": "zephyr/Kconfig",
    "zephyr.module.yml.in": "zephyr/module.yml",
}

# Bits of bm_plan_t.isa -> how a hart with them calls itself.
_ISA_NAMES = {
    "RV32": "rv32",
    "RV64": "rv64",
    "V": "v",
    "ZVE32F": "_zve32f",
    "P": "p",
    "ZVDOT4A8I": "_zvdot4a8i",
    "ZVFH": "_zfh_zvfh",
    "XSMTVDOT": "_xsmtvdot",
    "ZVFBFMIN": "_zfbfmin_zvfbfmin",
    "ZVFBFWMA": "_zvfbfwma",
}

_READ_VLEN = """\
  uintptr_t vlenb;  // vectors are on: mstatus.VS is not 0
  __asm__ volatile("csrr %0, 0xC22" : "=r"(vlenb));
"""

_FIRMWARE_README = """
`make` makes an image, `build/@NAME@.elf`, with the startup code, HAL and linker script in `firmware`. `make run` boots
it in QEMU's virt machine: it computes the cases of the golden data, compares them with what the framework computed, and
ends with the record `BM1 PASS`, or with an exit status that is not 0. The compiler, which `CC` may name, and its
options are chosen for you. `make build/lib@NAME@.a` makes the library of the table. With CMake,
`cmake -B build && cmake --build build` makes that image, and `cmake --build build --target run` boots it.
"""

# As a part of somebody else's project, the folder is libraries.
_ALONE = "if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)"
_CMAKE_TOOLCHAIN = f"""\
{_ALONE[:-1]} AND NOT CMAKE_TOOLCHAIN_FILE)
  set(CMAKE_TOOLCHAIN_FILE ${{CMAKE_CURRENT_SOURCE_DIR}}/firmware/toolchain.cmake)
endif()
"""
_CMAKE_FIRMWARE = f"""
{_ALONE}
  include(firmware/firmware.cmake)
endif()
"""

_LIBGCC_LICENSE = """
`firmware/libgcc.a` is all of GCC's libgcc, from Debian's package gcc-riscv64-unknown-elf, whose source package has the
source. The file itself is under the GNU General Public License 3 or later, with that exception; images are not.
"""

_KERNEL_COMPILER = """
Some kernels are functions of kernel libraries, sources in this folder. CMake and make compile them with `{}`, so
your compiler must know these extensions, and what else the sources use, such as intrinsics.
"""

_KERNEL_DEVICE = """
A kernel library drives the device `{0}`: define `const uintptr_t bm_device_{0}`, the address of its registers.
It may call more functions of `runtime_bm/hal/hal.h`, which you provide as well: the linker names them.
"""


def contents(
    models: Sequence[Model], libraries: Sequence[KernelLibrary] = (), *, boots: bool = False
) -> dict[str, str | Path]:
    """Returns text, or the path of a file to copy, by place in the folder.

    Args:
      models: one or more.
      libraries: all kernel libraries that they call.
      boots: whether make and CMake build an image for QEMU.

    Raises:
      BmcError: the models do not go together, one calls libraries and none are given, or QEMU cannot run them.
    """
    _require_one_program(models)
    for model in models:
        if model.calls_libraries and not libraries:
            raise BmcError(
                "not-exported",
                f"{model.name} calls kernel libraries, whose sources only a workspace knows",
                hint="export it there with the .export of a bm_export, or compile it without --kernel-library",
            )
    files: dict[str, str | Path] = {
        "LICENSE": _RUNTIME / "LICENSE",
        "without_libc/memory.c": _RUNTIME / _MEMORY,
    }
    for place in _runtime():
        files[f"src/{place}"] = _RUNTIME / place
    for model in models:
        define = "#define BM_KERNELS_LOADED 1\n" if model.is_loaded else ""
        for place, path in model.files().items():
            files[f"src/{place}"] = path
            if path.suffix in (".c", ".S"):
                # The assembler looks for files where -I points: at src.
                text = path.read_text(encoding="utf-8")
                text = text.replace('.incbin "', f'.incbin "{model.name}/')
                # It may be older than an extension of the kernels, which are data to it.
                text = re.sub(r"(?m)^ *\.attribute arch, .*\n", "", text)
                files[f"src/{place}"] = define + text
    for library in libraries:
        for place, path in (*library.sources.items(), *library.headers.items()):
            files[f"src/{place}"] = path
    values = _values(models, libraries) | {
        "CMAKE_FIRMWARE": _CMAKE_FIRMWARE if boots else "",
        "CMAKE_TOOLCHAIN": _CMAKE_TOOLCHAIN if boots else "",
        "FIRMWARE": "include firmware/firmware.mk\n" if boots else "",
        "FIRMWARE_LICENSE": _LIBGCC_LICENSE if boots and models[0].target.xlen == 32 else "",
        "FIRMWARE_README": _FIRMWARE_README.replace("@NAME@", models[0].name) if boots else "",
    }
    if boots:
        devices = [device for library in libraries for device in library.devices]
        files |= complete.files(models, devices, values)
    for template, place in _PLACES.items():
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        files[place] = re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)
    return files


def _runtime() -> list[str]:
    """Returns the sources and headers of the runtime."""
    paths = (path.relative_to(_RUNTIME).as_posix() for path in _RUNTIME.rglob("*.[ch]"))
    return sorted(set(paths) - {_MEMORY})


def _require_one_program(models: Sequence[Model]) -> None:
    first = models[0]
    for number, model in enumerate(models):
        if model.target != first.target:
            raise BmcError(
                "not-exported",
                f"{first.name} is compiled for {first.target.isa} and {model.name} for {model.target.isa}",
                hint="export them into folders of their own",
            )
        if model.name in (other.name for other in models[:number]):
            raise BmcError(
                "not-exported",
                f"two models are called {model.name}",
                hint="compile one of them with another --name",
            )


def _flags(xlen: int) -> str:
    """Returns compiler options for C beside the kernels: those of the project's own firmware."""
    c = target.find({32: "rv32imac", 64: "rv64gc"}[xlen])
    return f"-march={c.march} -mabi={c.abi} -mcmodel=medany"


def _kernel_values(isa: Target, libraries: Sequence[KernelLibrary]) -> dict[str, str]:
    """Returns what the templates' @NAMES@ about kernel libraries stand for."""
    # They run after the check of the hart, as kernels do.
    flags = ("-O2", f"-march={isa.march}", f"-mabi={isa.abi}")
    options = {
        place: (*flags, *library.options) for library in libraries for place in library.sources
    }
    devices = dict.fromkeys(device for library in libraries for device in library.devices)
    languages = {"C", "ASM"}.union(*(library.languages for library in libraries))
    return {
        "KERNEL_COMPILER": _KERNEL_COMPILER.format(" ".join(flags)) if libraries else "",
        "KERNEL_DEVICES": "".join(_KERNEL_DEVICE.format(device) for device in devices),
        "KERNEL_LINES": " ".join(f"src/{place}" for place in options),
        "KERNEL_MAKE_OPTIONS": "\n".join(
            f"$(OUT)/src/{place}.o: private options = {' '.join(each)}"
            for place, each in options.items()
        ),
        "KERNEL_OPTIONS": "\n".join(
            f'set_source_files_properties(${{src}}/{place} PROPERTIES COMPILE_OPTIONS "{";".join(each)}")'
            for place, each in options.items()
        ),
        "KERNEL_SOURCES": " ".join(f"${{src}}/{place}" for place in options),
        "LANGUAGES": " ".join(sorted(languages, reverse=True)),
    }


def _values(models: Sequence[Model], libraries: Sequence[KernelLibrary]) -> dict[str, str]:
    """Returns what the templates' @NAMES@ stand for."""
    names = [model.name for model in models]
    isa = models[0].target
    bits = [bit.name for bit in PlanIsa if bit & isa.isa_bits]
    runtime = [place for place in _runtime() if place.endswith(".c")]
    vectors = isa.vlen_bits != 0
    return {
        "FLAGS": _flags(isa.xlen),
        "HAL_BITS": " | ".join(f"BM_ISA_{bit}" for bit in bits),
        "HAL_ISA": "".join(_ISA_NAMES[bit] for bit in bits),
        "HAL_READ_VLEN": _READ_VLEN if vectors else "",
        "HAL_VLEN": "(uint32_t)vlenb * 8" if vectors else "0",
        "HEADERS": ",".join(f"{name}.h" for name in names),
        "INCLUDES": "\n".join(f'#include "{name}.h"' for name in names),
        "ISA": isa.isa,
        "KCONFIG": names[0].upper(),
        "MODELS": " ".join(names),
        "NAME": names[0],
        "NEEDS": f" with VLEN {isa.vlen_bits} or more" if vectors else "",
        "RUNTIME": "\n".join(f"  src/{place}" for place in runtime),
        "RUNTIME_LINES": " \\\n  ".join(f"src/{place}" for place in runtime),
        **_kernel_values(isa, libraries),
    }
