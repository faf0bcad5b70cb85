"""Exports in the hands of somebody else: built with CMake and make, GCC and clang, and booted in QEMU.

`product.py` has what is not of a single test.
"""

from __future__ import annotations

import os
import re
import tempfile
import unittest
from pathlib import Path

from tools.actions.export.tests import product
from tools.actions.export.tests.product import GCC, Product, call

LLVM = product.path("CLANG").parent
CMAKE = product.path("CMAKE")

# For each compiler: what CMake must know, and the options to link with.
COMPILERS: dict[str, tuple[dict[str, str | Path], str]] = {
    "gcc": (
        {"C_COMPILER": GCC, "CXX_COMPILER": GCC.with_name(GCC.name.replace("gcc", "g++"))},
        "",
    ),
    "clang": (
        {
            "C_COMPILER": LLVM / "clang",
            "CXX_COMPILER": LLVM / "clang++",
            "AR": LLVM / "llvm-ar",
            **{
                f"{language}_COMPILER_TARGET": "riscv64-unknown-elf"
                for language in ("C", "CXX", "ASM")
            },
        },
        "-fuse-ld=lld",
    ),
}

_ZEPHYR = """cmake_minimum_required(VERSION 3.20)
project(application LANGUAGES C CXX ASM)
# Without Zephyr's C library.
add_compile_options(-ffreestanding)
macro(zephyr_library_named name)
  set(library ${name})
  add_library(${library} STATIC)
endmacro()
macro(zephyr_include_directories first)
  include_directories(${first} ${ARGN})
endmacro()
function(zephyr_library_compile_options first)
  target_compile_options(${library} PRIVATE ${first} ${ARGN})
endfunction()
function(zephyr_library_sources first)
  target_sources(${library} PRIVATE ${first} ${ARGN})
endfunction()
"""


class Export(Product):
    """An export of a workspace: what `X.export` writes and prints."""

    def __init__(self, launcher: str, scratch: Path, name: str = "mlp", model: str = "MLP") -> None:
        folder = scratch / "export"
        self.listing = call(product.path(launcher), folder)
        golden = next(p for p in os.environ[model].split() if p.endswith("/golden.bin"))
        images, self.digits = product.cases(Path(golden))
        super().__init__(folder, images, name)

    def cmake(self, compiler: str, source: Path) -> Path:
        """Builds a folder, the applications' or the export's own; returns where the results are."""
        settings, link = COMPILERS[compiler]
        build = source.with_name(compiler)
        call(
            CMAKE,
            *("-G", "Unix Makefiles", "-S", source, "-B", build),
            f"-DEXPORT={self.export}",
            f"-DCMAKE_MAKE_PROGRAM={product.MAKE}",
            "-DCMAKE_SYSTEM_NAME=Generic",
            "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
            *(f"-DCMAKE_{name}={value}" for name, value in settings.items()),
            f"-DCMAKE_C_FLAGS={self.flags}",
            f"-DCMAKE_ASM_FLAGS={self.flags}",
            f"-DCMAKE_CXX_FLAGS={self.flags} -std=c++17 -fno-exceptions -fno-rtti",
            f"-DCMAKE_EXE_LINKER_FLAGS=-nostdlib -T {self.app}/link.ld {link}",
        )
        call(CMAKE, "--build", build, "-j", "2")
        return build


class CMakeTest(unittest.TestCase):
    export: Export

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.export = Export("EXPORT", Path(scratch.name))

    def test_what_was_written_is_listed(self) -> None:
        listed = {line for line in self.export.listing.splitlines() if " " not in line}
        files = {
            path.relative_to(self.export.export).as_posix()
            for path in self.export.export.rglob("*")
            if path.is_file()
        }
        self.assertEqual(listed, files - {"ironcast.json"})
        self.assertLess({"src/mlp.h", "src/denoiser.h", "LICENSE", "zephyr/module.yml"}, files)

    def check(self, compiler: str) -> None:
        build = self.export.cmake(compiler, self.export.app)
        cpu = product.VECTORS_256
        for program in ("digits", "digits_cc"):
            self.assertEqual(
                product.boot(build / program, cpu), (0, f"digits {self.export.digits}\n")
            )
        self.assertEqual(product.boot(build / "tasks", cpu), (0, "preempted, disturbed 0\n"))
        status, careless = product.boot(build / "careless_tasks", cpu)
        self.assertRegex(careless, "preempted, disturbed [1-9]", status)
        # FAILED_PRECONDITION, before a kernel runs.
        refused = product.boot(build / "digits", product.VECTORS_128)
        self.assertEqual(refused, (1, "refused with code 9\n"))

    def test_gcc(self) -> None:
        self.check("gcc")

    def test_clang(self) -> None:
        self.check("clang")


class CompleteTest(unittest.TestCase):
    def test_cmake_makes_an_image(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "export"
            call(product.path("EXPORT_RV32"), "--complete", folder)
            for compiler, (settings, _) in COMPILERS.items():
                build = folder / compiler
                call(
                    *(CMAKE, "-G", "Unix Makefiles", "-S", folder, "-B", build),
                    f"-DCMAKE_MAKE_PROGRAM={product.MAKE}",
                    f"-DCMAKE_C_COMPILER={settings['C_COMPILER']}",
                    f"-DQEMU={product.path('QEMU_RV32')}",
                )
                said = call(CMAKE, "--build", build, "-j", "2", "--target", "run")
                self.assertRegex(said, r"(?m)^BM1 PASS cases=\d+$")


class F16Test(unittest.TestCase):
    def test_a_hart_with_f16_runs_it(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            export = Export("EXPORT_F16", Path(scratch), "mlp_f16")
            image = export.make()
            self.assertEqual(product.boot(image, product.F16_256), (0, f"digits {export.digits}\n"))


class KernelLibraryTest(unittest.TestCase):
    def test_its_functions_compute(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            export = Export("EXPORT_KERNELS", Path(scratch), "naive_fixture", "FIXTURE")
            source = export.export / "src/kernels/tests/naive.c"
            digits = (0, f"digits {export.digits}\n")
            self.assertEqual(product.boot(export.make(), product.VECTORS_256), digits)
            for compiler in COMPILERS:
                built = export.cmake(compiler, export.export)
                self.assertTrue((built / "libironcast_naive_fixture_kernels.a").is_file())
            # With other sums it sees something else, so these functions are what runs.
            source.write_text("#define WRONG\n" + source.read_text())
            self.assertNotEqual(product.boot(export.make(), product.VECTORS_256), digits)


class ZephyrTest(unittest.TestCase):
    """The files for Zephyr, with functions in CMake that take as many arguments as Zephyr's own."""

    def built(self, launcher: str, name: str) -> set[str]:
        """Returns the functions of the library that an export becomes in an application."""
        with tempfile.TemporaryDirectory() as scratch:
            export = Export(launcher, Path(scratch), name)
            source = Path(scratch) / "zephyr_app"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(
                f"{_ZEPHYR}set(CONFIG_IRONCAST_{name.upper()} y)\n"
                "add_subdirectory(${EXPORT}/zephyr module)\n"
            )
            library = export.cmake("gcc", source) / f"module/libironcast_{name}.a"
            return set(re.findall(r" T (\w+)", call(LLVM / "llvm-nm", "--quiet", library)))

    def test_models_with_kernel_libraries_and_without(self) -> None:
        for launcher, name, has_library in (
            ("EXPORT", "mlp", False),
            ("EXPORT_KERNELS", "naive_fixture", True),
        ):
            functions = self.built(launcher, name)
            self.assertIn("bm_model_init", functions)
            self.assertEqual("naive_f32" in functions, has_library)


class MakeTest(unittest.TestCase):
    def test_options_of_the_environment_are_none_of_a_compiler(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            export = Export("EXPORT", Path(scratch))
            planned = call(
                *("env", "options=--unknown", product.MAKE, "--dry-run"), folder=export.export
            )
            self.assertIn("-ffreestanding", planned)
            self.assertNotIn("--unknown", planned)

    def test_32_bits(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            export = Export("EXPORT_RV32", Path(scratch))
            image = export.make()
            self.assertEqual(
                product.boot(image, product.SCALAR_32), (0, f"digits {export.digits}\n")
            )
            missing, named = (
                self.missing(export.export / "build/libmlp.a"),
                self.named(export.readme),
            )
            self.assertLessEqual(missing, named)
            # No more than that, but for memmove, which belongs to the others.
            self.assertEqual({name for name in named - missing if name.startswith("bm_")}, set())

    def test_a_complete_export_boots_also_with_clang(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "export"
            call(product.path("EXPORT_RV32"), "--complete", folder)
            # LLD is beside it.
            environment = f"PATH={LLVM}:{os.environ['PATH']}"
            call("env", environment, product.MAKE, "CC=clang", folder=folder)
            self.assertRegex(
                product.boot(folder / "build/mlp.elf", product.SCALAR_32)[1],
                r"BM1 PASS cases=\d+\n$",
            )

    def missing(self, library: Path) -> set[str]:
        """What a program must define, but for the functions of compilers themselves."""
        symbols = call(LLVM / "llvm-nm", "--quiet", library)
        wanted = set(re.findall(r" U (\w+)", symbols))
        wanted -= set(re.findall(r" [A-TV-Z] (\w+)", symbols))
        return {name for name in wanted if not name.startswith("__")}

    def named(self, readme: str) -> set[str]:
        """What the README says that one must provide."""
        section = readme.split("## What you provide")[1].split("\n## ")[0]
        functions = re.findall(r"(?m)^\w+ (bm_\w+)\(", section)
        return {*functions, *re.findall(r"`(mem\w+)`", section)}


if __name__ == "__main__":
    unittest.main()
