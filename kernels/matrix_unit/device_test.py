"""The matrix unit in Spike beside its specification, README.md: results, cycles, errors and faults."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from unit import INT8_DOWN, LOAD, MULTIPLY, STORE, SUMS, Shape, Unit

_FLAGS = "--target=riscv64-unknown-elf -march=rv64gc -mabi=lp64d -ffreestanding -nostdlib -O1 -I."
_FLAGS += " -fuse-ld=lld -static -Wl,-Ttext=0x80000000,-N -mcmodel=medany"
_BASE = 0x10020000
_WORD = 4

# Does the steps one after the other. Ends Spike with 0, or with the number of the first one that fails, from 1 to 255.
_PROGRAM = """
#include "kernels/matrix_unit/registers.h"
typedef unsigned int word;
typedef struct { word kind, at, value; } step;
enum { WRITE, READ, POLL, MEMORY, ADDRESS };
__attribute__((aligned(64))) static word memory[] = {MEMORY_WORDS};
static const step steps[] = {STEPS};
__attribute__((aligned(64))) volatile unsigned long tohost, fromhost;

static word get(word at) {
  unsigned long now;
  __asm__ volatile("csrr %0, minstret" : "=r"(now));
  return *(volatile word *)(0x10020000UL + at);
}

static void set(word at, word value) {
  *(volatile word *)(0x10020000UL + at) = value;
}

static int holds(const step *next) {
  const unsigned long address = (unsigned long)memory + next->value;
  switch (next->kind) {
    case WRITE:
      set(next->at, next->value);
      return 1;
    case READ:
      return get(next->at) == next->value;
    case POLL:
      for (int i = 0; i != 100000; ++i) {
        if (get(next->at) == next->value) return 1;
      }
      return 0;
    case MEMORY:
      return *(volatile word *)((char *)memory + next->at) == next->value;
    default:
      set(next->at, (word)address);
      set(next->at + 4, (word)(address >> 32));
      return 1;
  }
}

void body(void) {
  unsigned long failed = 0;
  for (unsigned long i = 0; i != sizeof(steps) / sizeof(step); ++i) {
    if (!holds(&steps[i])) {
      failed = i < 254 ? i + 1 : 255;
      break;
    }
  }
  tohost = failed << 1 | 1;
  for (;;) {
  }
}

__asm__(".globl _start\\n.section .text.start,\\"ax\\"\\n_start: la sp, top\\n j body\\n"
        ".bss\\n.balign 16\\n.space 4096\\ntop:\\n.text");
"""

# Operands in memory, and how far it goes.
_IMAGE, _WEIGHTS, _NUMBERS, _RESULT, _LIST, _END = 0, 4096, 8192, 10240, 16384, 20480
# Registers of registers.h.
_RESET, _SUBMIT, _SUBMITTED, _ENDED, _ERROR, _ERROR_JOB = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
_LIST_AT, _BASE_AT, _MULTIPLIED, _COPIED, _BUSY = 0x20, 0x40, 0x80, 0x88, 0x90
_BAD_ADDRESS, _BAD_SIZE, _BAD_JOB, _QUEUE_FULL, _BROKEN = range(1, 6)
# Bases of a list.
_BASES = (_IMAGE, _WEIGHTS, _NUMBERS, _NUMBERS, _NUMBERS, _RESULT)


def _memory(seed: int) -> np.ndarray:
    """Random operands; the numbers are 20 biases, multipliers and shifts, as TensorFlow Lite has them."""
    random = np.random.default_rng(seed)
    memory = random.integers(-128, 128, _END, np.int8)
    numbers = np.concatenate(
        [
            random.integers(-3000, 3000, 20),
            random.integers(2**30, 2**31, 20),
            random.integers(0, 9, 20),
        ]
    )
    memory[_NUMBERS : _NUMBERS + 240] = numbers.astype("<i4").view(np.int8)
    return memory


def _jobs(shape: Shape, lines: int = 4, outputs: int = 20) -> list[list[int]]:
    """Two tiles of lines, each with its own image, while the other one is multiplied or stored."""
    pixel = outputs * (4 if shape.mode == SUMS else 1)
    tile = lines * shape.columns * pixel
    jobs = [[LOAD, 0, 1, 0, 4096, outputs * shape.window, 1, 0]]
    jobs += [[LOAD, 0, 2, 80 * i, 8192 + 4 * outputs * i, 4 * outputs, 1, 0] for i in range(3)]
    for number in range(2):
        image, result = 1000 * number, 16384 + 8192 * number
        jobs.append([LOAD, 0, 0, lines * shape.image_y * number, image, 400, 1, 0])
        jobs.append([MULTIPLY, len(jobs) - number, image, 4096, 8192, result, lines, outputs])
    for number in range(2):
        result = 16384 + 8192 * number
        jobs.append(
            [STORE, number + 1, 5, tile * number, result, pixel, lines * shape.columns, pixel]
        )
    return jobs


@dataclass
class _Script:
    """Steps of the program, and the memory that it starts with."""

    memory: np.ndarray
    steps: list[tuple[str, int, int]] = field(default_factory=list)

    def submit(self, shape: Shape, jobs: Sequence[Sequence[int]], at: int = _LIST) -> None:
        words = np.array([*shape.words, *(word for job in jobs for word in job)], "<i8")
        data = words.astype("<u4").view(np.int8)
        self.memory[at : at + data.size] = data
        self.steps.append(("ADDRESS", _LIST_AT, at))
        self.steps += [("ADDRESS", _BASE_AT + 8 * i, base) for i, base in enumerate(_BASES)]
        self.steps.append(("WRITE", _SUBMIT, len(jobs)))

    def holds(self, memory: np.ndarray) -> None:
        """Compares all results."""
        for at in range(_RESULT, _LIST, _WORD):
            self.steps.append(("MEMORY", at, int(memory[at : at + _WORD].view("<u4")[0])))

    def run(self, device: str = "DEVICE") -> int:
        """Returns 0, or the number of the first step that does not hold, from 1 to 255."""
        words = ", ".join(f"{word}u" for word in self.memory.view("<u4"))
        steps = ", ".join(f"{{{kind}, {at}u, {value}u}}" for kind, at, value in self.steps)
        text = _PROGRAM.replace("MEMORY_WORDS", words).replace("{STEPS}", f"{{{steps}}}")
        with tempfile.TemporaryDirectory() as folder:
            source, image = Path(folder, "a.c"), Path(folder, "a.elf")
            source.write_text(text, encoding="utf-8")
            command = [os.environ["CLANG"], *_FLAGS.split(), str(source), "-o", str(image)]
            subprocess.run(command, check=True)
            fault = "" if device == "DEVICE" else "," + device.lower()
            spike = [os.environ["SPIKE"], "--extlib", os.environ["DEVICE"], "--isa=rv64gc_zicntr"]
            spike += ["-m0x80000000:0x1000000"]
            return subprocess.run(
                [*spike, f"--device=matrix_unit,{_BASE:#x}{fault}", str(image)],
                env={"PATH": f"{Path(os.environ['DTC']).parent}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                timeout=60,
                check=False,
            ).returncode


# Shapes of products: convolutions with strides, a depthwise one, and a matrix product.
_SHAPES = {
    "int8": Shape(),
    "down": Shape(mode=INT8_DOWN, columns=2, image_x=16),
    "sums": Shape(mode=SUMS, tap_columns=1, run=19),
    "depthwise": Shape(image_output=1, run=1, image_tap_x=20),
    "matrix": Shape(columns=1, image_y=80, tap_lines=1, tap_columns=1, run=80),
}


class DeviceTest(unittest.TestCase):
    def test_results_and_cycles_are_those_of_the_specification(self) -> None:
        for seed, (name, shape) in enumerate(_SHAPES.items()):
            with self.subTest(name):
                script = _Script(_memory(seed))
                jobs = _jobs(shape)
                script.submit(shape, jobs)
                # Nothing has ended yet.
                script.holds(script.memory)
                script.steps.append(("POLL", _ENDED, 1))
                unit = Unit(script.memory.copy(), _BASES)
                cycles = unit.run(shape, jobs)
                script.holds(unit.memory)
                for at, count in zip((_MULTIPLIED, _COPIED, _BUSY), cycles, strict=True):
                    script.steps.append(("READ", at, count))
                script.steps.append(("READ", _ERROR, 0))
                self.assertGreater(np.count_nonzero(unit.memory != script.memory), 100)
                self.assertEqual(script.run(), 0)

    def test_a_wrong_result_is_noticed(self) -> None:
        script = _Script(_memory(7))
        script.submit(Shape(), _jobs(Shape()))
        unit = Unit(script.memory.copy(), _BASES)
        unit.run(Shape(), _jobs(Shape()))
        unit.memory[_RESULT] ^= 1
        script.steps.append(("POLL", _ENDED, 1))
        script.holds(unit.memory)
        self.assertEqual(script.run(), 10)

    def test_errors(self) -> None:
        good = _jobs(Shape())
        cases: dict[str, tuple[int, int, Shape, dict[int, list[int]]]] = {
            "scratchpad": (_BAD_ADDRESS, 4, Shape(), {4: [LOAD, 0, 0, 0, 65000, 1000, 1, 0]}),
            "lines": (_BAD_ADDRESS, 4, Shape(), {4: [LOAD, 0, 0, 0, 0, 1024, 65, 0]}),
            "memory": (_BAD_ADDRESS, 9, Shape(), {9: [STORE, 2, 5, 1 << 30, 0, 8, 1, 0]}),
            "step": (_BAD_ADDRESS, 9, Shape(), {9: [STORE, 2, 5, 0, 0, 8, 2, 1 << 30]}),
            "image": (_BAD_ADDRESS, 5, Shape(image_x=40000), {}),
            "result": (_BAD_ADDRESS, 5, Shape(), {5: [MULTIPLY, 5, 0, 4096, 8192, 65400, 4, 20]}),
            "window": (_BAD_ADDRESS, 5, Shape(tap_lines=1 << 31, tap_columns=1 << 31), {}),
            "nothing copied": (_BAD_SIZE, 0, Shape(), {0: [LOAD, 0, 1, 0, 0, 0, 1, 0]}),
            "nothing multiplied": (_BAD_SIZE, 5, Shape(run=0), {}),
            "mode": (_BAD_JOB, 5, Shape(mode=3), {}),
            "kind": (_BAD_JOB, 2, Shape(), {2: [3, 0, 1, 0, 0, 8, 1, 0]}),
            "base": (_BAD_JOB, 2, Shape(), {2: [LOAD, 0, 6, 0, 0, 8, 1, 0]}),
            "after itself": (_BAD_JOB, 5, Shape(), {5: [MULTIPLY, 6, 0, 4096, 8192, 0, 4, 20]}),
        }
        for name, (error, job, shape, changes) in cases.items():
            script = _Script(_memory(8))
            script.submit(shape, [changes.get(i, words) for i, words in enumerate(good)])
            script.steps += [
                ("POLL", _ERROR, error),
                ("READ", _ERROR_JOB, job),
                ("READ", _ENDED, 0),
            ]
            # After a reset, the unit works.
            script.steps += [("WRITE", _RESET, 1), ("READ", _ERROR, 0), ("READ", _SUBMITTED, 0)]
            script.submit(Shape(), good, _LIST + 2048)
            script.steps.append(("POLL", _ENDED, 1))
            with self.subTest(name):
                self.assertEqual(script.run(), 0)

    def test_a_list_that_is_none(self) -> None:
        script = _Script(_memory(11))
        script.submit(Shape(), _jobs(Shape()))
        *addresses, (_, _, count) = script.steps
        for at, error in ((0x10, _BAD_ADDRESS), (0x80FFFFF0, _BAD_ADDRESS), (_LIST, _BAD_SIZE)):
            bad = _Script(script.memory, list(addresses))
            if error == _BAD_ADDRESS:
                bad.steps += [("WRITE", _LIST_AT, at), ("WRITE", _LIST_AT + 4, 0)]
            bad.steps.append(("WRITE", _SUBMIT, count if error == _BAD_ADDRESS else 0))
            bad.steps += [("READ", _ERROR, error), ("READ", _ERROR_JOB, 0)]
            with self.subTest(at):
                self.assertEqual(bad.run(), 0)

    def test_four_lists_wait_and_a_fifth_is_refused(self) -> None:
        script = _Script(_memory(9))
        long = [[LOAD, 0, 0, 0, 0, _END, 1, 0]] * 20
        for _ in range(4):
            script.submit(Shape(), long)
        script.steps += [("READ", _SUBMITTED, 4), ("READ", _ERROR, 0)]
        script.steps.append(("WRITE", _SUBMIT, len(long)))
        script.steps.append(("READ", _ERROR, _QUEUE_FULL))
        self.assertEqual(script.run(), 0)

    def test_faults(self) -> None:
        broken = _Script(_memory(10))
        broken.submit(Shape(), _jobs(Shape()))
        broken.steps += [("POLL", _ERROR, _BROKEN), ("READ", _ENDED, 0)]
        self.assertEqual(broken.run("FAILS"), 0)
        hanging = _Script(_memory(10))
        hanging.submit(Shape(), _jobs(Shape()))
        last = len(hanging.steps) + 1
        hanging.steps.append(("POLL", _ENDED, 1))
        self.assertEqual(hanging.run("HANGS"), last)


if __name__ == "__main__":
    sys.exit(unittest.main())
