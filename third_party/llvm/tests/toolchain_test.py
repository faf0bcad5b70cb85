"""Tests the output of two toolchains: host programs with sanitizers, and RV64GC firmware without vectors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

READELF, OBJDUMP, HEAP_OVERFLOW, INT_OVERFLOW, FUZZ_TARGET, RISCV = sys.argv[1:7]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=os.getcwd())


class HostToolchain(unittest.TestCase):
    def test_asan_stops_a_heap_overflow(self) -> None:
        done = run(HEAP_OVERFLOW)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("heap-buffer-overflow", done.stderr)

    def test_ubsan_stops_a_signed_overflow_and_names_the_line(self) -> None:
        done = run(INT_OVERFLOW)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr, r"int_overflow\.c:\d+:\d+: runtime error: signed integer overflow"
        )

    def test_the_fuzzer_finds_a_three_byte_bug(self) -> None:
        artifacts = f"-artifact_prefix={os.environ['TEST_TMPDIR']}/"
        done = run(FUZZ_TARGET, "-seed=1", "-max_len=3", "-max_total_time=50", artifacts)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("deadly signal", done.stderr)


class RiscvToolchain(unittest.TestCase):
    def test_it_is_a_riscv_executable_without_the_vector_extension(self) -> None:
        header = run(READELF, "-hA", RISCV).stdout
        self.assertRegex(header, r"Class:\s+ELF64")
        self.assertRegex(header, r"Machine:\s+RISC-V")
        self.assertRegex(header, r"Type:\s+EXEC")
        self.assertIn("double-float ABI", header)
        arch = re.search(r"Value: (rv64\S+)", header)
        assert arch is not None, header
        self.assertNotRegex(arch[1], r"_v\d|_zve")

    def test_vector_instructions_stand_only_where_the_assembler_was_told(self) -> None:
        listing = run(OBJDUMP, "-d", "--mattr=+v", "--no-show-raw-insn", RISCV).stdout
        function = ""
        vectors: dict[str, list[str]] = {}
        for line in listing.splitlines():
            if match := re.match(r"[0-9a-f]+ <(\w+)>:", line):
                function = match[1]
            elif re.search(r":\s+v\w+", line):
                vectors.setdefault(function, []).append(line.strip())
        self.assertEqual(list(vectors), ["whole_vector_length"])
        self.assertRegex(listing, r"csrr\s+a0, vlenb")

    def test_nothing_of_this_machine_is_in_it(self) -> None:
        with open(RISCV, "rb") as file:
            content = file.read()
        for trace in (b"/home", b"/tmp", b"execroot", b"external/"):
            self.assertNotIn(trace, content)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
