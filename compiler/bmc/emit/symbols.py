"""C names of what a model's files define; `name` is the model's.

tools/rules/private (accept.bzl, bm_firmware.bzl) generates C that refers to them: every model's build
links both.
"""

from __future__ import annotations


def plan(name: str) -> str:
    """The bm_plan_t."""
    return f"{name}_plan"


def golden(name: str) -> str:
    """The bm_golden_t."""
    return f"{name}_golden"


def weights(name: str) -> str:
    """The bytes of the weights."""
    return f"{name}_weights"


def kernels(name: str) -> str:
    """The image of prelinked kernels."""
    return f"{name}_kernels"


def kernels_elf(name: str) -> str:
    """The ELF of kernels to be loaded at run time."""
    return f"{name}_kernels_elf"


def kernel(name: str, function: str) -> str:
    """A dispatch function in the image, for disassembly and backtraces; `function` is a C identifier."""
    return f"{name}_k_{function}"


def library_query(name: str) -> str:
    """IREE's library query in the image."""
    return f"{name}_library_query"
