"""Checks the kernels' embedded ELF against its target and finds the executable library in it."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from bmc.elf import overlaps, reader
from bmc.elf.reader import Elf
from bmc.errors import BmcError
from bmc.target import EM_RISCV, EM_X86_64, Target

# Alignment of segments and of the memory into which a loader puts them.
PAGE_BYTES = 4096
QUERY_SYMBOL = "iree_hal_executable_library_query"

_MACHINE_NAMES = {EM_RISCV: "RISC-V", EM_X86_64: "x86-64"}
_LIBRARY_VERSION = 6
_RISCV_FLOAT_ABI_MASK = 6
_WORKGROUP_SIZE_DYNAMIC = 2


@dataclass(frozen=True, slots=True)
class DispatchFunction:
    """The entry point of a kernel.

    Attributes:
      name: name of the dispatch function.
      address: vaddr of its code.
      constant_count: number of push constants it reads, in 32-bit words.
      binding_count: number of buffers it reads and writes.
    """

    name: str
    address: int
    constant_count: int
    binding_count: int


@dataclass(frozen=True)
class Kernels:
    """A checked embedded ELF.

    Attributes:
      elf: the file as IREE wrote it.
      image: memory image from vaddr 0 to the last stored byte.
      loaded_bytes: bytes that a run-time loader needs, a multiple of PAGE_BYTES.
      text: (start, end) vaddr ranges of code.
      relocations: (slot, addend) pairs sorted by slot. Vaddr slot gets the image base plus addend.
      query: vaddr of the library query function.
      library: vaddr of the executable library, which the query function returns.
      pointer_bytes: size of a pointer in the image.
      exports: the kernels in ordinal order.
      arch: Tag_RISCV_arch, "" if there is none.
    """

    elf: bytes
    image: bytes
    loaded_bytes: int
    text: tuple[tuple[int, int], ...]
    relocations: tuple[tuple[int, int], ...]
    query: int
    library: int
    pointer_bytes: int
    exports: tuple[DispatchFunction, ...]
    arch: str


def load(data: bytes, target: Target) -> Kernels:
    """Checks an embedded ELF against the target it must run on.

    Raises:
      BmcError: the file is malformed, is for another machine, has writable data, needs symbols,
        relocations or services that the runtime lacks, or uses extensions that the target lacks, or
        instructions that no hart executes.
    """
    elf = reader.read(data)
    if (elf.machine, elf.xlen) != (target.elf_machine, target.xlen):
        raise BmcError(
            "wrong-machine",
            f"the kernels are for {_MACHINE_NAMES.get(elf.machine, f'machine {elf.machine}')} of"
            f" {elf.xlen} bits, not {_MACHINE_NAMES[target.elf_machine]} of {target.xlen}",
        )
    if elf.type != reader.ET_DYN:
        raise reader.bad(f"has type {elf.type}, not a shared object")
    for symbol in elf.symbols:
        if not symbol.defined:
            raise BmcError(
                "undefined-symbol", f"the kernels need the undefined symbol '{symbol.name}'"
            )
    for relocation in elf.relocations:
        if relocation.kind != target.relative_relocation or relocation.symbol != 0:
            raise BmcError(
                "unsupported-relocation",
                f"the kernels have relocation kind {relocation.kind} at {relocation.offset:#x}",
                hint=f"only kind {target.relative_relocation} (RELATIVE) can be prelinked",
            )
    _check_segments(elf)
    if target.is_riscv:
        _check_riscv(elf, target)
    slots = {relocation.offset: relocation.addend for relocation in elf.relocations}
    stored = max(
        (s.vaddr + s.file_size for s in elf.segments if s.kind == reader.PT_LOAD), default=0
    )
    pointer = target.xlen // 8
    for slot, addend in slots.items():
        if slot % pointer or slot > stored - pointer or not 0 <= addend < len(elf.image):
            raise reader.bad(f"relocates {slot:#x} to {addend:#x}, outside its image")
    queries = [symbol.value for symbol in elf.symbols if symbol.name == QUERY_SYMBOL]
    text = tuple(
        (s.vaddr, s.vaddr + s.file_size)
        for s in elf.segments
        if s.kind == reader.PT_LOAD and s.flags & reader.PF_X
    )
    if len(queries) != 1 or not _inside(queries[0], text):
        raise reader.bad(f"does not export the function {QUERY_SYMBOL}")
    library, exports = _library(elf.image, slots, text, pointer)
    if target.is_riscv:
        _check_overlaps(elf.image, text, exports)
    return Kernels(
        elf=data,
        image=elf.image[:stored],
        loaded_bytes=-(-len(elf.image) // PAGE_BYTES) * PAGE_BYTES,
        text=text,
        relocations=tuple(sorted(slots.items())),
        query=queries[0],
        library=library,
        pointer_bytes=pointer,
        exports=exports,
        arch=elf.riscv_arch,
    )


def _inside(address: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= address < end for start, end in ranges)


def _check_segments(elf: Elf) -> None:
    relro = [s for s in elf.segments if s.kind == reader.PT_GNU_RELRO]
    for segment in elf.segments:
        if segment.kind != reader.PT_LOAD or not segment.flags & reader.PF_W:
            continue
        if segment.flags & reader.PF_X:
            raise reader.bad("has a segment that is writable and executable")
        end = segment.vaddr + segment.memory_size
        if not any(r.vaddr <= segment.vaddr and end <= r.vaddr + r.memory_size for r in relro):
            raise BmcError(
                "writable-data",
                "the kernels have writable data, but they execute in place from read-only memory",
            )


def _check_riscv(elf: Elf, target: Target) -> None:
    if elf.flags & _RISCV_FLOAT_ABI_MASK != target.float_abi:
        raise reader.bad(f"was not compiled for the {target.abi} ABI")
    base = f"rv{target.xlen}"
    if not elf.riscv_arch.startswith(base + "i"):
        raise reader.bad(f"is for '{elf.riscv_arch or 'an unstated architecture'}', not {base}")
    # Names with versions: "rv64i2p1_m2p0_zvl256b1p0".
    extensions = {
        re.sub(r"\d+p\d+$", "", name) for name in elf.riscv_arch.removeprefix(base).split("_")
    }
    foreign = sorted(extensions - target.extensions)
    if foreign:
        raise BmcError(
            "wrong-isa",
            f"the kernels use {', '.join(foreign)}, which {target.isa} does not have",
        )
    if target.vlen_bits and f"zvl{target.vlen_bits}b" not in extensions:
        raise BmcError(
            "wrong-isa", f"the kernels were not compiled for VLEN {target.vlen_bits} ({target.isa})"
        )


def _check_overlaps(
    image: bytes, text: tuple[tuple[int, int], ...], exports: tuple[DispatchFunction, ...]
) -> None:
    for found in overlaps.find(image, text):
        before = [export for export in exports if export.address <= found.address]
        kernel = max(before, key=lambda export: export.address).name if before else "?"
        raise BmcError(
            "illegal-instruction",
            f"LLVM gave kernel {kernel} an instruction that no hart executes: the result of {found.name} at"
            f" {found.address:#x} is v{found.register}, which it also reads",
            hint="give that kernel other tile sizes in tuning.json",
        )


def _library(
    image: bytes, slots: dict[int, int], text: tuple[tuple[int, int], ...], pointer: int
) -> tuple[int, tuple[DispatchFunction, ...]]:
    """Finds iree_hal_executable_library_v0_t by its relocated pointers; returns its vaddr and exports."""
    found = [
        (slot, exports)
        for slot in sorted(slots)
        if (exports := _library_at(image, slots, slot, text, pointer)) is not None
    ]
    if len(found) != 1:
        raise reader.bad(
            f"holds {len(found)} executable libraries of version {_LIBRARY_VERSION}, not one"
        )
    return found[0]


def _library_at(
    image: bytes, slots: dict[int, int], base: int, text: tuple[tuple[int, int], ...], pointer: int
) -> tuple[DispatchFunction, ...] | None:
    """Reads a library_v0 at `base`; returns None if its first pointers show that there is none.

    Offsets in pointer-sized words. In library_v0: header* 0, import count 1, export count 3, ptrs* 4,
    attrs* 5, names* 8, constant count 13. In the header: version 0, name* 1, features and sanitizer (u32
    each) from 2. Offsets in bytes, in dispatch_attrs (64 bytes each): flags (u64) 0, local memory pages
    (u16) 8, constant count (u8) 10, binding count (u8) 11, parameter count (u16) 22. The source is IREE's
    executable_library.h; runtime_bm/abi has the same structures.
    """
    header = slots[base]
    ptrs, attrs, names = (slots.get(base + word * pointer) for word in (4, 5, 8))
    if header + pointer not in slots or ptrs is None or attrs is None or names is None:
        return None
    version = _u32(image, header)
    imports, count = _u32(image, base + pointer), _u32(image, base + 3 * pointer)
    if version != _LIBRARY_VERSION:
        return None
    if imports:
        raise BmcError(
            "undefined-symbol",
            f"the kernels import {imports} functions from the runtime, which has none",
        )
    for what, at in (
        ("a sanitizer", header + 2 * pointer + 4),
        ("executable constants", base + 13 * pointer),
    ):
        if _u32(image, at):
            raise _unsupported(f"the kernels need {what}")
    exports = []
    for i in range(count):
        address = slots.get(ptrs + pointer * i)
        name = slots.get(names + pointer * i)
        attributes = attrs + 64 * i
        if (
            address is None
            or name is None
            or not _inside(address, text)
            or attributes + 64 > len(image)
        ):
            raise reader.bad(f"has a malformed export table (export {i} of {count})")
        flags, pages, constant_count, binding_count, parameters = struct.unpack_from(
            "<QHBB10xH", image, attributes
        )
        export = DispatchFunction(
            reader.c_string(image, name), address, constant_count, binding_count
        )
        if flags & _WORKGROUP_SIZE_DYNAMIC or parameters:
            raise _unsupported(f"kernel {export.name} needs parameters or a workgroup size")
        if pages:
            raise BmcError(
                "local-memory",
                f"kernel {export.name} needs {pages * 4096} bytes of workgroup-local memory",
            )
        exports.append(export)
    return tuple(exports)


def _unsupported(what: str) -> BmcError:
    return BmcError("unsupported-kernels", f"{what}, which the runtime does not support")


def _u32(image: bytes, offset: int) -> int:
    if not 0 <= offset <= len(image) - 4:
        raise reader.bad(f"points outside its image ({offset:#x})")
    return int(struct.unpack_from("<I", image, offset)[0])
