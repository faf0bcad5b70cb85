"""What is in an exported folder: bmc's files, the runtime, and a file for each build system."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_TEMPLATES = Path(__file__).parent / "templates"

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
_ISA_NAMES = {"RV32": "rv32", "RV64": "rv64", "V": "v", "ZVE32F": "_zve32f"}

_READ_VLEN = """\
  uintptr_t vlenb;  // vectors are on: mstatus.VS is not 0
  __asm__ volatile("csrr %0, 0xC22" : "=r"(vlenb));
"""


@dataclass(frozen=True)
class Kit:
    """What bm_export knows about a library.

    Attributes:
      name: of the folder's library, that of its first model.
      isa: ISA of the kernels.
      plan_bits: the bits of bm_plan_t.isa that the kernels need, by name.
      vlen_bits: smallest VLEN in bits, 0 without vectors.
      flags: compiler options for C that is linked with the kernels.
      models: C name of each model -> `prelinked` or `loaded` kernels.
      files: place below `src` -> file, of the models and the runtime.
      license: Ironcast's license.
      memory: memcpy and its like, for applications without a C library.
    """

    name: str
    isa: str
    plan_bits: list[str]
    vlen_bits: int
    flags: str
    models: dict[str, str]
    files: dict[str, str]
    license: str
    memory: str


def read_kit(path: Path) -> Kit:
    """Reads the JSON that bm_export writes."""
    return Kit(**json.loads(path.read_text(encoding="utf-8")))


def contents(kit: Kit) -> dict[str, str | Path]:
    """Returns text, or the path of a file to copy, by place in the folder."""
    files: dict[str, str | Path] = {
        "LICENSE": Path(kit.license),
        "without_libc/memory.c": Path(kit.memory),
    }
    for place, path in kit.files.items():
        files[f"src/{place}"] = Path(path)
    for model, kernels in kit.models.items():
        define = "#define BM_KERNELS_LOADED 1\n" if kernels == "loaded" else ""
        for name in ("plan.c", "kernels.S", "weights.S"):
            text = Path(kit.files[f"{model}/{name}"]).read_text(encoding="utf-8")
            # The assembler looks for files where -I points: at src.
            files[f"src/{model}/{name}"] = define + text.replace('.incbin "', f'.incbin "{model}/')
    values = _values(kit)
    for template, place in _PLACES.items():
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        files[place] = re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)
    return files


def _values(kit: Kit) -> dict[str, str]:
    """Returns what the templates' @NAMES@ stand for."""
    runtime = sorted(p for p in kit.files if p.startswith("runtime_bm/") and p.endswith(".c"))
    vectors = kit.vlen_bits != 0
    return {
        "FLAGS": kit.flags,
        "HAL_BITS": " | ".join(f"BM_ISA_{bit}" for bit in kit.plan_bits),
        "HAL_ISA": "".join(_ISA_NAMES[bit] for bit in kit.plan_bits),
        "HAL_READ_VLEN": _READ_VLEN if vectors else "",
        "HAL_VLEN": "(uint32_t)vlenb * 8" if vectors else "0",
        "HEADERS": ",".join(f"{model}.h" for model in kit.models),
        "INCLUDES": "\n".join(f'#include "{model}.h"' for model in kit.models),
        "ISA": kit.isa,
        "KCONFIG": kit.name.upper(),
        "MODELS": " ".join(kit.models),
        "NAME": kit.name,
        "NEEDS": f" with VLEN {kit.vlen_bits} or more" if vectors else "",
        "RUNTIME": "\n".join(f"  src/{place}" for place in runtime),
        "RUNTIME_LINES": " \\\n  ".join(f"src/{place}" for place in runtime),
    }
