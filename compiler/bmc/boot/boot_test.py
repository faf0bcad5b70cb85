"""Which programs `bmc run` takes, and what it says if one is missing; the wheel's test boots models."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from unittest import mock

import support

from bmc import boot, target


class ToolsTest(support.FolderTest):
    def path(self, *programs: str) -> dict[str, str]:
        """An environment with these programs, and no others, on its PATH."""
        for program in programs:
            file = self.folder / program
            file.parent.mkdir(exist_ok=True)
            file.touch(0o755)
        return {"PATH": str(self.folder / "bin")}

    def test_one_sentence_names_what_is_missing(self) -> None:
        programs: list[str] = []
        for found, missing in (
            ("qemu-system-riscv32", "QEMU (qemu-system-riscv64)"),
            ("qemu-system-riscv64", "make"),
            ("make", "a C compiler for RISC-V (riscv64-unknown-elf-gcc, or clang with ld.lld)"),
            ("clang", "a C compiler for RISC-V (riscv64-unknown-elf-gcc, or clang with ld.lld)"),
        ):
            programs.append(f"bin/{found}")
            environment = self.path(*programs)
            self.refuses(
                "tool-missing",
                f"bmc run needs {missing} on the PATH",
                call=lambda: boot.find_tools(64, environment),  # noqa: B023
            )
        environment = self.path(*programs, "bin/ld.lld")
        self.assertEqual(boot.find_tools(64, environment).compiler, str(self.folder / "bin/clang"))
        environment = self.path("bin/riscv64-unknown-elf-gcc")
        found = boot.find_tools(64, environment).compiler
        self.assertEqual(found, str(self.folder / "bin/riscv64-unknown-elf-gcc"))

    def test_variables_name_other_programs(self) -> None:
        environment = self.path("bin/make", "own/qemu-system-riscv64", "own/qemu-system-riscv32")
        own = self.folder / "own"
        environment["IRONCAST_QEMU"] = str(own / "qemu-system-riscv64")
        environment["IRONCAST_CLANG"] = str(own / "clang")
        tools = boot.find_tools(32, environment)
        self.assertEqual(tools.qemu, str(own / "qemu-system-riscv32"))
        self.assertEqual(tools.compiler, str(own / "clang"))
        self.assertTrue(tools.environment["PATH"].startswith(f"{own}:"))

    def test_the_compiler_writes_its_own_files_where_the_image_is_made(self) -> None:
        environment = self.path("bin/qemu-system-riscv64", "bin/riscv64-unknown-elf-gcc")
        make = self.folder / "bin/make"
        make.write_text('#!/bin/sh\n[ "$TMPDIR" -ef . ] && echo "error: as it should"\nexit 1\n')
        make.chmod(0o755)
        model = mock.Mock(target=target.find("rv64gc"))
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(boot, "read_model", return_value=model),
            mock.patch.object(boot, "export"),
        ):
            self.refuses("image-failed", "as it should", call=lambda: boot.run([Path("one")]))

    def test_a_model_for_this_machine_is_refused(self) -> None:
        report = {"name": "one", "isa": "x86_64", "dispatches": []}
        (self.folder / "report.json").write_text(json.dumps(report))
        self.refuses(
            "not-exported", "one is compiled for x86_64", call=lambda: boot.run([Path(self.folder)])
        )


if __name__ == "__main__":
    unittest.main()
