"""Tests the command line: exit codes, and errors for models that it refuses."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import unittest
from unittest import mock

import support

from bmc import artifacts, cli, command, frontends, guard
from bmc.errors import BmcError

_FUNCTION = "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {"
_RETURN = "  return %0 : tensor<4x4xf32>\n}\n"
_CHOLESKY = (
    f"{_FUNCTION}\n  %c = stablehlo.add %x, %x : tensor<4x4xf32>\n\n"
    '  %0 = "stablehlo.cholesky"(%c) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n'
    f"{_RETURN}"
)
_UNDECLARED = f"{_FUNCTION}\n  %0 = stablehlo.add %x, %y : tensor<4x4xf32>\n{_RETURN}"
_CASES = """import numpy as np
from bmc import spec
def good():
    x = np.arange(16, dtype=np.float32)
    return spec.Cases(((x,),), spec.Exact(), ((x + x,),))
def wrong_shape():
    x = np.zeros(15, np.float32)
    return spec.Cases(((x,),), spec.Exact(), ((x,),))
def no_case():
    return spec.Cases((), spec.Exact())
def number():
    return 3
def raising():
    raise ValueError("boom")
def leaving():
    raise SystemExit(0)
def floats():
    return spec.Cases((([1.0, 2.0],),), spec.Exact(), (([2.0, 4.0],),))
def importing():
    import lite_thing.layers
"""


class CommandLineTest(support.FolderTest):
    def refused(self, *arguments: object) -> str:
        """Runs bmc; asserts exit code 1 and one error line with at most a hint after it."""
        result = support.bmc(*arguments)
        self.assertEqual(result.status, 1, result)
        lines = result.err.splitlines()
        self.assertTrue(lines[0].startswith("bmc: error["), result.err)
        self.assertTrue(all(line.startswith("  hint: ") for line in lines[1:]), result.err)
        self.assertLessEqual(len(lines), 2, result.err)
        self.assertEqual(result.out, "")
        return result.err

    def refused_import(self, text: str, *more: object, name: str = "model.mlir") -> str:
        source = self.write(name, text)
        return self.refused("import", source, "--out", self.folder / "imported", *more)

    def test_a_good_model_is_imported_and_compiled(self) -> None:
        source = self.write("add.mlir", support.ADD)
        self.write("cases.py", _CASES)
        imported = self.folder / "imported"
        cases = f"{self.folder / 'cases.py'}:good"
        result = support.bmc("import", source, "--cases", cases, "--out", imported)
        self.assertEqual(result.status, 0, result.err)
        out, kept = self.folder / "out", self.folder / "kept"
        what = ("--isa", support.ISA, "--name", "m", "--out", out, "--keep", kept)
        result = support.bmc("compile", "--import", imported, *what)
        self.assertEqual(result.status, 0, result.err)
        self.assertEqual(result.err, "")
        self.assertTrue((out / "plan.c").is_file())
        first, *_, last = sorted(kept.iterdir())
        self.assertIn("stablehlo.add", first.read_text())
        self.assertIn("vm.func", last.read_text(), "every phase, to the last")

    def test_missing_file(self) -> None:
        for name in ("none.mlir", "none.mlirbc", "none.py:make"):
            message = self.refused("import", self.folder / name, "--out", self.folder / "o")
            self.assertIn("error[file-missing]", message)
            self.assertIn(name.partition(":")[0], message)

    def test_a_name_of_a_file_does_not_reach_the_terminal_as_it_is(self) -> None:
        name = "\x1b]0;PASS\x07\u202e.mlir"
        self.write(name, support.ADD)
        self.write("cases.py", _CASES)
        cases = f"{self.folder / 'cases.py'}:good"
        done = support.bmc(
            "import", self.folder / name, "--cases", cases, "--out", self.folder / "o"
        )
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("imported ?]0;PASS??.mlir", done.out)
        self.assertTrue(done.out.rstrip("\n").isprintable())
        refused = self.refused("import", self.folder / ("no" + name), "--out", self.folder / "o")
        self.assertTrue(refused.replace("\n", "").isprintable())

    def test_unknown_kind(self) -> None:
        message = self.refused_import("", name="model.h5")
        self.assertIn("error[unknown-kind]", message)
        self.assertIn("model.h5", message)
        self.assertIn(".mlir", message)

    def test_what_is_no_file(self) -> None:
        folder = self.folder / "model.onnx"
        folder.mkdir()
        message = self.refused("import", folder, "--out", self.folder / "o")
        self.assertIn("model.onnx' is not a SavedModel: it has no saved_model.pb", message)
        source = self.write("add.mlir", support.ADD)
        message = self.refused("import", source, "--out", source)
        self.assertIn(f"error[file-failed]: '{source}': File exists", message)

    def test_a_saved_model_may_be_called_anything(self) -> None:
        for name in ("sm", "net.v1", "net.onnx", "net.py", "net.py:make", "a:b"):
            (self.folder / name).mkdir()
            (self.folder / name / "saved_model.pb").touch()
            keras = mock.Mock()
            keras.import_file.side_effect = BmcError("stop", "here")
            with (
                contextlib.chdir(self.folder),
                mock.patch.dict(sys.modules, {"bmc.frontends.keras": keras}),
            ):
                self.assertIn("error[stop]", self.refused("import", name, "--out", "out"))
            self.assertEqual(keras.import_file.call_args.args[0], self.folder / name)

    def test_paths_with_colons(self) -> None:
        (self.folder / "a:b").mkdir()
        message = self.refused_import(_UNDECLARED, name="a:b/model:main.mlir")
        self.assertIn("(at model:main.mlir:2)", message)

    def test_malformed_mlir_names_the_line(self) -> None:
        message = self.refused_import(_UNDECLARED)
        self.assertIn("undeclared SSA value", message)
        self.assertIn("(at model.mlir:2)", message)
        self.assertIn("garbage", self.refused_import("garbage", name="model.mlirbc"))

    def test_op_that_iree_rejects_names_op_and_line(self) -> None:
        message = self.refused_import(_CHOLESKY)
        self.assertIn("error[op-rejected]: iree-compile", message)
        self.assertIn("'stablehlo.cholesky'", message)
        self.assertIn("(at model.mlir:4)", message)
        reproducer = self.folder / "imported" / "reproducer"
        self.assertIn("iree-compile", (reproducer / "command.sh").read_text())
        self.assertTrue((reproducer / artifacts.MODEL_FILE).is_file())

    def test_signatures_that_cannot_be(self) -> None:
        for text, kind in (
            (
                "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
                "  return %x : tensor<?x4xf32>\n}\n",
                "dynamic-shape]: input0 of main in 'model.mlir'",
            ),
            (
                "func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n"
                "  return %x : tensor<4xcomplex<f32>>\n}\n",
                "unsupported-dtype]: element type complex<f32>",
            ),
            (support.ADD.replace("@main", "@forward"), "no-main]: 'model.mlir'"),
            (
                "func.func @main(%x: tensor<4xf32>) {\n  return\n}\n",
                "bad-signature]: the model has",
            ),
            ("func.func @main(%x: memref<4xf32>) {\n  return\n}\n", "bad-signature]: input0"),
        ):
            self.assertIn(f"error[{kind}", self.refused_import(text))

    def test_bad_cases(self) -> None:
        self.write("cases.py", _CASES)
        for name, part in (
            ("wrong_shape", "15xf32"),
            ("no_case", "cases have inputs ()"),
            ("number", "cases.py:number returned int"),
            ("raising", "ValueError: boom (at cases.py:14)"),
            ("leaving", "cases.py:leaving raised SystemExit: 0 (at cases.py:16)"),
            (
                "importing",
                "cases.py:importing raised ModuleNotFoundError: No module named 'lite_thing'",
            ),
            (
                "importing",
                'pip install lite-thing; in a BUILD file, deps = [requirement("lite-thing")]',
            ),
            ("floats", "input 0 of case 0 is of type list, not a numpy array"),
            ("nowhere", "no function 'nowhere'"),
        ):
            cases = f"{self.folder / 'cases.py'}:{name}"
            self.assertIn(part, self.refused_import(support.ADD, "--cases", cases), name)
        message = self.refused_import(support.ADD, "--cases", str(self.folder / "cases.py"))
        self.assertIn("does not name a factory", message)

    def refused_compile(self, *arguments: object) -> str:
        out = self.folder / "out"
        return self.refused(
            "compile", "--isa", support.ISA, "--name", "m", "--out", out, *arguments
        )

    def test_not_an_import_and_bad_name(self) -> None:
        self.assertIn("error[not-an-import]", self.refused_compile("--import", self.folder))
        support.import_text(support.ADD, self.folder)
        artifacts.save(support.import_text(support.ADD, self.folder), self.folder)
        message = self.refused_compile("--import", self.folder, "--name", "Not-C")
        self.assertIn("error[bad-name]: 'Not-C'", message)
        version = f'{{"format_version": {artifacts.FORMAT_VERSION}}}'
        for damage in ("{", "[]", "[" * 200_000, version):
            self.write(artifacts.IMPORT_FILE, damage)
            message = self.refused_compile("--import", self.folder)
            self.assertIn(f"error[not-an-import]: '{self.folder}' is damaged", message)

    def test_an_import_with_more_than_a_model_is_refused(self) -> None:
        artifacts.save(support.import_text(support.ADD, self.folder), self.folder)
        path = self.folder / artifacts.MODEL_FILE
        right = path.read_bytes()
        parameter = '#flow.parameter.named<"scope"::"key"> : tensor<4xf32>'
        for text, part in (
            (f"util.global private @g = {parameter}", "'flow.parameter.named'"),
            ("hal.executable.source private @s {}", "'hal.executable.source'"),
            ("func.func @main(", "model.mlirbc is not MLIR"),
            ("// no function", "model.mlirbc lacks 'main'"),
        ):
            path.write_text(text, encoding="utf-8")
            for action in ("compile", "optimize", "verify"):
                with self.subTest(text, action=action):
                    more = ("--isa", support.ISA, "--name", "m") if action == "compile" else ()
                    out = self.folder / "out"
                    self.assertIn(
                        part, self.refused(action, "--import", self.folder, "--out", out, *more)
                    )
        # Negative control: it is the MLIR that is refused.
        path.write_bytes(right)
        done = support.bmc("optimize", "--import", self.folder, "--out", self.folder / "out")
        self.assertEqual(done.status, 0, done.err)

    def test_what_is_refused_before_the_import(self) -> None:
        source = self.write("add.mlir", support.ADD)
        with mock.patch.object(frontends, "import_model", side_effect=AssertionError):
            for option, value, part in (
                ("--name", "Not-C", "error[bad-name]: 'Not-C'"),
                ("--first-cases", "0", "error[bad-cases]: the first 0 cases are none"),
                ("--ram", "0", "error[bad-ram]: 0 bytes of RAM are none: give 1 or more"),
                ("--tuning", self.folder / "none.json", "none.json' does not exist"),
                ("--libcalls", self.folder / "none.a", "none.a' does not exist"),
            ):
                self.assertIn(part, self.refused_compile("--src", source, option, value))

    def test_usage_errors_exit_with_2(self) -> None:
        for arguments in (
            (),
            ("frobnicate",),
            ("import",),
            ("compile", "--isa", "vax", "--name", "m", "--out", "o"),
        ):
            result = support.bmc(*arguments)
            self.assertEqual(result.status, 2, arguments)
            self.assertIn("usage: bmc", result.err)
            self.assertNotIn("Traceback", result.err)
        self.assertEqual(support.bmc("--help").status, 0)

    def test_a_float_part_needs_a_reason(self) -> None:
        arguments = ("--import", self.folder, "--isa", support.ISA, "--name", "m", "--out", "o")
        for text in ("conv_f32", "conv_f32= ", "=reason"):
            done = support.bmc("compile", *arguments, "--float-part", text)
            self.assertEqual(done.status, 2)
            self.assertIn(f"'{text}' is not NAME=REASON", done.err)

    def test_errors_of_bmc_exit_with_70(self) -> None:
        artifacts.save(support.import_text(support.ADD, self.folder), self.folder)
        arguments = ("compile", "--import", self.folder, "--isa", support.ISA)
        with mock.patch.object(cli, "compile_model", side_effect=RuntimeError("broken")):
            result = support.bmc(*arguments, "--name", "m", "--out", self.folder / "o")
        self.assertEqual(result.status, 70)
        self.assertIn("internal error", result.err)

    def test_a_full_disk_is_no_error_of_bmc(self) -> None:
        artifacts.save(support.import_text(support.ADD, self.folder), self.folder)
        out = self.folder / "o"
        what = ("compile", "--import", self.folder, "--isa", support.ISA, "--name", "m", "--out")
        for number in (errno.ENOSPC, errno.EDQUOT):
            full = OSError(number, os.strerror(number))

            def reject(*_: object, full: OSError = full) -> None:
                # As a frontend does, which cannot know all errors of its framework.
                try:
                    raise full
                except OSError as cause:
                    raise BmcError("op-rejected", str(cause)) from None

            for error in (full, reject):
                with mock.patch.object(cli, "compile_model", side_effect=error):
                    message = self.refused(*what, out)
                self.assertIn(f"error[disk-full]: '{out}' or a temporary file", message)
                self.assertIn("free some space, or name other places with --out", message)
        refused = OSError(errno.EROFS, os.strerror(errno.EROFS), str(out / "plan.c"))
        with mock.patch.object(cli, "compile_model", side_effect=refused):
            message = self.refused(*what, out)
        self.assertIn(f"'{out / 'plan.c'}': Read-only file system", message)
        self.assertIn("name another with --out", message)

    def test_no_folder_takes_temporary_files(self) -> None:
        none = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
        said = io.StringIO()
        with (
            mock.patch.object(guard, "run", side_effect=none),
            contextlib.redirect_stderr(said),
        ):
            self.assertEqual(command.run(lambda _: 0), 1)
        self.assertIn("error[file-failed]: No usable temporary directory", said.getvalue())
        self.assertIn("TMPDIR", said.getvalue())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class FoldingTest(unittest.TestCase):
    def test_a_terminal_gets_whole_words(self) -> None:
        names = [f"a-long-name-{number}" for number in range(9)]
        error = BmcError("stop", f"one of {' '.join(names)} is wrong")
        shown = Terminal()
        with contextlib.redirect_stderr(shown), mock.patch.dict(os.environ, COLUMNS="40"):
            self.assertEqual(command.fail(error), 1)
        lines = shown.getvalue().splitlines()
        self.assertGreater(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), 40)
        self.assertLessEqual({*names}, {word for line in lines for word in line.split()})


class TooLargeTest(unittest.TestCase):
    def test_memory_and_depth_are_one_sentence(self) -> None:
        for error, said in (
            (MemoryError(), "does not fit into memory"),
            (RecursionError(), "nested"),
        ):
            with mock.patch("bmc.frontends.import_model", side_effect=error):
                done = support.bmc("import", "x.onnx", "--out", "out")
            self.assertEqual(done.status, 1)
            self.assertRegex(done.err, rf"\Abmc: error\[too-large\]: [^\n]*{said}[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
