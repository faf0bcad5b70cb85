"""Writes convolutions as text and counts instructions in their kernels."""

from __future__ import annotations

from pathlib import Path

import support

from bmc import target
from bmc.elf import kernels

# Masks and matches of whole instruction words. The other bits are registers and vm.
VWMACC_VX = (0xFC00707F, 0xF4006057)
VFMACC_VF = (0xFC00707F, 0xB0005057)
VRGATHER = (0xFC00707F, 0x30003057)

_CONVOLUTION = """func.func @main(%x: tensor<1x{size}x{size}x16x{t}>) -> tensor<1x{out}x{out}x{n}x{sum}> {{
  %w = stablehlo.constant {weight} : tensor<3x3x16x{n}x{t}>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{stride}, {stride}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x{size}x{size}x16x{t}>, tensor<3x3x16x{n}x{t}>) -> tensor<1x{out}x{out}x{n}x{sum}>
  return %0 : tensor<1x{out}x{out}x{n}x{sum}>
}}
"""


def text(element: str, channels: int, size: int = 18, stride: int = 1) -> str:
    """A 3x3 convolution of a square image with 16 channels, channels last."""
    is_float = element.startswith("f")
    return _CONVOLUTION.format(
        t=element,
        sum=element if is_float else "i32",
        weight="dense<1.5>" if is_float else "dense<3>",
        n=channels,
        size=size,
        out=(size - 3) // stride + 1,
        stride=stride,
    )


def words(mlir: str, folder: Path) -> list[int]:
    """Compiles MLIR text; returns the words at all even addresses of its kernels.

    Instructions are at even addresses and take two or four bytes, so this needs no disassembler.
    """
    program = support.lower_text(mlir, folder).lowered.program
    assert program.executable
    image = kernels.load(program.executable, target.find(support.ISA)).image
    return [int.from_bytes(image[i : i + 4], "little") for i in range(0, len(image) - 3, 2)]


def count(code: list[int], pattern: tuple[int, int]) -> int:
    mask, match = pattern
    return sum((word & mask) == match for word in code)
