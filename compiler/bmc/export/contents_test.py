"""What an export contains, and which models it refuses; tools/actions/export/tests builds and boots exports."""

from __future__ import annotations

import json
import re
import shutil
import unittest
from pathlib import Path

import support

from bmc.export.contents import contents
from bmc.export.kernels import read_libraries
from bmc.export.models import read_model

_FILES = (
    "golden.S",
    "golden.bin",
    "golden.c",
    "kernels.S",
    "kernels.bin",
    "kernels.elf",
    "plan.c",
    "weights.S",
    "weights.bin",
)


class ContentsTest(support.FolderTest):
    def compiled(
        self, name: str, isa: str = "rv64gc", folder: str = "", call: str | None = None
    ) -> Path:
        """A folder like those of `bmc compile`."""
        out = self.folder / (folder or name)
        out.mkdir()
        report = {"name": name, "isa": isa, "dispatches": [{"call": call}]}
        (out / "report.json").write_text(json.dumps(report))
        for file in (*_FILES, f"{name}.h"):
            (out / file).write_text(f'    .attribute arch, "rv64i"\n.incbin "{file}"\n')
        return out

    def refused(self, sentence: str, *folders: Path, kind: str = "not-exported") -> None:
        self.refuses(
            kind,
            sentence,
            call=lambda: contents([read_model(folder, ()) for folder in folders]),
        )

    def test_models_share_one_runtime_and_have_folders_of_their_own(self) -> None:
        models = [read_model(self.compiled(name), ()) for name in ("one", "two")]
        files = contents(models)
        for name in ("one", "two"):
            self.assertEqual(files[f"src/{name}/kernels.S"], f'.incbin "{name}/kernels.S"\n')
            self.assertEqual(files[f"src/{name}.h"], self.folder / name / f"{name}.h")
            self.assertIn(f"src/{name}/kernels.bin", files)
            self.assertNotIn(f"src/{name}/kernels.elf", files)
        self.assertIn("src/runtime_bm/plan/plan_run.c", files)
        self.assertIn("src/runtime_bm/bm.h", files)
        self.assertNotIn("src/runtime_bm/crt/memory.c", files)
        for place, file in files.items():
            if isinstance(file, str):
                self.assertIsNone(re.search("@[A-Z_]+@", file), place)
            else:
                self.assertTrue(file.is_file(), place)

    def test_kernels_are_assembled_without_debug_information(self) -> None:
        files = contents([read_model(self.compiled("one"), ())])
        for place, line in (
            ("Makefile", r"kernels\.S\.o\): private options = -g0\n"),
            ("CMakeLists.txt", r"/kernels\.S PROPERTIES COMPILE_OPTIONS -g0\)\n"),
            ("zephyr/CMakeLists.txt", r"/kernels\.S PROPERTIES COMPILE_OPTIONS -g0\)\n"),
        ):
            self.assertRegex(str(files[place]), line)

    def test_loaded_kernels_come_as_an_elf(self) -> None:
        files = contents([read_model(self.compiled("one"), ["one"])])
        self.assertIn("src/one/kernels.elf", files)
        self.assertNotIn("src/one/kernels.bin", files)
        self.assertIn("#define BM_KERNELS_LOADED 1\n", str(files["src/one/plan.c"]))

    def test_the_readme_is_for_the_isa(self) -> None:
        vectors = contents([read_model(self.compiled("one", "rv64gcv_zvl256b"), ())])["README.md"]
        self.assertIn('.isa = "rv64v",\n      .isa_bits = BM_ISA_RV64 | BM_ISA_V', str(vectors))
        self.assertIn("with VLEN 256 or more", str(vectors))
        scalar = contents([read_model(self.compiled("two", "rv32imac"), ())])["README.md"]
        self.assertIn("`-march=rv32imac_zicsr_zifencei -mabi=ilp32 -mcmodel=medany`", str(scalar))
        self.assertNotIn("vlenb", str(scalar))

    def test_models_that_do_not_go_together(self) -> None:
        one = self.compiled("one")
        other = self.compiled("other", "rv32imac")
        self.refused("one is compiled for rv64gc and other for rv32imac", one, other)
        self.refused("two models are called one", one, self.compiled("one", folder="again"))
        host = self.compiled("host", "x86_64")
        self.refused("host is compiled for x86_64, and exports are for RISC-V", host)

    def described(self, source: str) -> Path:
        """What bm_export writes about a kernel library with one source and one header."""
        (self.folder / source).write_text("")
        (self.folder / "f.h").write_text("")
        library = {
            "devices": ["unit"],
            "headers": {"lib/f.h": str(self.folder / "f.h")},
            "options": ["-DFAST"],
            "sources": {f"lib/{source}": str(self.folder / source)},
        }
        (self.folder / "kernels.json").write_text(json.dumps([library]))
        return self.folder / "kernels.json"

    def test_kernel_libraries_come_as_sources(self) -> None:
        model = read_model(self.compiled("one", "rv64gcv_zvl256b", call="f"), ())
        files = contents([model], read_libraries(self.described("f.cc")))
        self.assertEqual(files["src/lib/f.cc"], self.folder / "f.cc")
        self.assertEqual(files["src/lib/f.h"], self.folder / "f.h")
        march = "-O2 -march=rv64imafdcv_zicsr_zifencei_zvl256b -mabi=lp64d"
        self.assertIn(
            f"$(OUT)/src/lib/f.cc.o: private options = {march} -DFAST\n", str(files["Makefile"])
        )
        self.assertIn("LANGUAGES CXX C ASM", str(files["CMakeLists.txt"]))
        self.assertIn(f"`{march}`", str(files["README.md"]))
        self.assertIn("`const uintptr_t bm_device_unit`", str(files["README.md"]))

    def test_libraries_whose_sources_are_not_known(self) -> None:
        one = self.compiled("one", call="f")
        self.refused("one calls kernel libraries, whose sources only a workspace knows", one)
        description = self.described("f.o")
        self.refuses(
            "not-exported",
            "'lib/f.o' of a kernel library is no source",
            call=lambda: read_libraries(description),
        )

    def complete(self, isa: str) -> dict[str, str | Path]:
        return contents([read_model(self.compiled("one", isa), ())], boots=True)

    def test_a_complete_export_has_firmware_for_the_isa(self) -> None:
        files = self.complete("rv64gcv_zvl256b")
        make = str(files["firmware/firmware.mk"])
        self.assertIn("include firmware/firmware.mk", str(files["Makefile"]))
        self.assertIn("-cpu rv64,v=true,vext_spec=v1.0,vlen=256,elen=64 ", make)
        self.assertIn("firmware/src/boards/qemu_virt_rv64/board.c", make)
        self.assertNotIn("qemu_virt_rv32", make)
        self.assertIn('.incbin "one/golden.S"\n', str(files["firmware/src/one/golden.S"]))
        self.assertIn('{"one", &one_plan, {NULL, 0}}', str(files["firmware/src/firmware.c"]))
        # A file of the runtime is there once.
        places = [place.partition("src/")[2] for place in files if "src/" in place]
        self.assertEqual(len(places), len(set(places)))
        self.assertNotIn(
            "firmware", str(contents([read_model(self.folder / "one", ())])["Makefile"])
        )

    def test_cmake_makes_an_image_of_a_complete_export_alone(self) -> None:
        files = self.complete("rv64gcv_zvl256b")
        cmake, image = str(files["CMakeLists.txt"]), str(files["firmware/firmware.cmake"])
        alone = "if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR"
        self.assertLess(
            cmake.index(f"{alone} AND NOT CMAKE_TOOLCHAIN_FILE)"), cmake.index("project(")
        )
        self.assertIn(f"{alone})\n  include(firmware/firmware.cmake)\nendif()\n", cmake)
        self.assertIn("\n  firmware/src/boards/qemu_virt_rv64/board.c\n", image)
        self.assertIn("-cpu rv64,v=true,vext_spec=v1.0,vlen=256,elen=64 ", image)
        for place in ("firmware/firmware.cmake", "firmware/toolchain.cmake"):
            self.assertIsNone(re.search("@[A-Z_]+@", str(files[place])), place)
        library = contents([read_model(self.folder / "one", ())])
        self.assertNotIn("firmware/", str(library["CMakeLists.txt"]))

    def test_what_cannot_be_complete(self) -> None:
        for isa, sentence in (
            ("rv64gcp", "QEMU's virt machine, which has no rv64gcp"),
            ("rv32imac", "a complete export for 32 bits has libgcc in it"),
        ):
            self.refuses("not-complete", sentence, call=lambda isa=isa: self.complete(isa))
            shutil.rmtree(self.folder / "one")

    def test_an_incomplete_folder(self) -> None:
        one = self.compiled("one")
        (one / "weights.bin").unlink()
        self.refused("weights.bin' is missing", one, kind="file-missing")
        self.refused("contains no report.json", self.folder, kind="file-missing")

    def test_a_name_that_is_none(self) -> None:
        one = self.compiled("one")
        report = json.loads((one / "report.json").read_text())
        for name in ("../one", 'one"; int x', "int"):
            (one / "report.json").write_text(json.dumps({**report, "name": name}))
            self.refused(f"'{name}'", one, kind="bad-name")


if __name__ == "__main__":
    unittest.main()
