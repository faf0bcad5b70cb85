"""The wheel works where pip has installed it: the program, and the function for notebooks."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile
import zlib
from pathlib import Path

from ironcast import make_wheel
from tools.actions.export.tests import product

WHEEL = Path(os.environ["WHEEL"]).absolute()
LOCK = Path(os.environ["LOCK"]).read_text()
ISA = "rv64gcv_zvl256b"

_MODEL = """
import numpy as np
import torch
from bmc.spec import ModelSpec, Tolerance

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 10)
        # Random numbers depend on the machine.
        for weight in self.layer.parameters():
            weight.data = torch.arange(weight.numel()).mul(37).fmod(101).reshape(weight.shape) / 64 - 0.8
    def forward(self, x):
        return self.layer(x)

X = (np.arange(640, dtype=np.float32) * 29 % 97).reshape(10, 1, 64) / 64 - 0.7
def make():
    names = {"input_names": ("image",), "output_names": ("logits",)}
    return ModelSpec(Net().eval(), tuple((x,) for x in X), Tolerance(1e-4, 1e-5), **names)
"""
_LIVE = """
import sys
import ironcast
compiled = ironcast.compile(make(), isa=sys.argv[1], name="mlp", folder=sys.argv[2])
assert compiled.report["isa"] == sys.argv[1] and (compiled.folder / "plan.c").is_file()
print(compiled.summary)
compiled.export(sys.argv[3])
"""
_JAX = """
import jax.numpy as jnp
import ironcast
weight = jnp.arange(32.0).reshape(8, 4)
def layer(x):
    return jnp.tanh(x @ weight)
print(ironcast.compile(layer, (jnp.ones((1, 8)),), isa="rv64gc", name="layer").report["frontend"])
checked = ironcast.check(layer, (jnp.ones((1, 8)),))
print(checked.ok, "multiply-accumulates" in checked.text, ironcast.check("missing.onnx").ok)
"""
_FILE = """
from pathlib import Path
import ironcast
Path("negate.mlir").write_text(
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
    " %y = arith.negf %x : tensor<4xf32> return %y : tensor<4xf32> }"
)
print(ironcast.compile(Path("negate.mlir"), isa="rv64gc", name="negate").report["frontend"])
print(ironcast.__version__)
Path("relu_pool.mlir").write_text(
    "func.func @main(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x4x4xf32> {"
    " %zero = stablehlo.constant dense<0.0> : tensor<1x1x8x8xf32>"
    " %relu = stablehlo.maximum %x, %zero : tensor<1x1x8x8xf32>"
    " %sum = stablehlo.add %relu, %x : tensor<1x1x8x8xf32>"
    " %least = stablehlo.constant dense<0xFF800000> : tensor<f32>"
    ' %pool = "stablehlo.reduce_window"(%sum, %least) ({'
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>):"
    "  %m = stablehlo.maximum %a, %b : tensor<f32>"
    "  stablehlo.return %m : tensor<f32>"
    " }) {window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}"
    " : (tensor<1x1x8x8xf32>, tensor<f32>) -> tensor<1x1x4x4xf32>"
    " return %pool : tensor<1x1x4x4xf32> }"
)
compiled = ironcast.compile("relu_pool.mlir", isa="rv32imac", name="relu_pool")
print(compiled.report["isa"])
compiled.export("relu_pool_c", complete=True)
print(ironcast.run(compiled).text)
(compiled.folder / "golden.bin").write_bytes(b"@" * (compiled.folder / "golden.bin").stat().st_size)
ran = ironcast.run(compiled.folder)
print(ran.ok, ran.text.splitlines()[-1])
"""
_REFUSED = """
import threading, torch, ironcast
from bmc.spec import ModelSpec, Exact
class Wrong(torch.nn.Module):
    def forward(self, x):
        return x.reshape(3)  # wrong
def tell(module, inputs, isa="rv64gc"):
    try:
        ironcast.compile(module, inputs, isa=isa)
    except ironcast.IroncastError as error:
        print(str(error).splitlines()[0])
x = torch.ones(2)
holding = Wrong()
holding.lock = threading.Lock()
tell(Wrong(), (x,))
tell(Wrong(), x)
tell(Wrong(), (x,), isa="rv65")
tell(holding, (x,))
tell(ModelSpec(Wrong(), ((x,),), Exact()), (x,))
tell("model.onnx", (x,))
"""


def is_package(entry: str) -> bool:
    """Whether an entry of sys.path is one of Bazel's packages, other than pip itself."""
    return Path(entry).name == "site-packages" and "pypi_" in entry


def contents_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class InstalledTest(unittest.TestCase):
    """All tests share one environment."""

    root: Path
    bin: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.root)
        # Debian's venv has no pip without another package; this pip is Bazel's.
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", cls.root / "venv"], check=True
        )
        cls.bin = cls.root / "venv/bin"
        product.write_tools(cls.root / "tools")
        pip = "import pkgutil, runpy, sys; pkgutil.ImpImporter = object; runpy.run_module('pip', run_name='__main__')"
        done = subprocess.run(
            [cls.bin / "python", "-c", pip, "install", "--no-index", "--no-deps", WHEEL],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        (installed,) = cls.root.glob("venv/lib/python*/site-packages")
        packages = (str(Path(entry).resolve()) for entry in sys.path if is_package(entry))
        (installed / "packages.pth").write_text("".join(f"{entry}\n" for entry in packages))

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.root))

    def run_in(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment as its user would."""
        return subprocess.run(
            [self.bin / program, *map(str, arguments)],
            cwd=self.folder,
            env={"PATH": f"{self.root}/tools:{os.environ['PATH']}", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
        )

    def passes(self, program: str, *arguments: object) -> str:
        done = self.run_in(program, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def test_the_program_compiles_a_pytorch_model_and_a_script_gets_the_same(self) -> None:
        self.write("model.py", _MODEL)
        self.assertIn("agrees", self.passes("bmc", "import", "model.py:make", "--out", "imported"))
        what = ("--isa", ISA, "--name", "mlp", "--out", "mlp")
        summary = self.passes("bmc", "compile", "--import", "imported", *what)
        self.assertIn(summary.strip(), self.passes("bmc", "inspect", "mlp"))
        self.assertIn("case 9 logits: ok", self.passes("bmc", "verify", "--import", "imported"))

        script = self.write("script.py", _MODEL + _LIVE)
        self.assertEqual(self.passes("python", script, ISA, "live", "live_export"), summary)
        for file in ("plan.c", "kernels.S", "weights.bin"):
            self.assertEqual(*((self.folder / out / file).read_bytes() for out in ("mlp", "live")))
        self.assertIn("script.py:", (self.folder / "live/report.json").read_text())

        self.assertIn("README.md", self.passes("bmc", "export", "mlp", "--out", "export"))
        exports = (contents_of(self.folder / out) for out in ("export", "live_export"))
        self.assertEqual(*exports)
        images, digits = product.cases(self.folder / "mlp/golden.bin")
        self.assertGreater(len(set(digits)), 3, "a constant answer would pass")
        image = product.Product(self.folder / "export", images).make()
        self.assertEqual(product.boot(image, product.VECTORS_256), (0, f"digits {digits}\n"))

        self.passes("bmc", "export", "mlp", "--complete", "--out", "complete")
        said = product.make_run(self.folder / "complete", "QEMU_RV64")
        self.assertRegex(said, r"\nBM1 PASS cases=10\n$")
        # With another weight it must not pass.
        weights = self.folder / "complete/src/mlp/weights.bin"
        weights.write_bytes(bytes(len(weights.read_bytes())))
        with self.assertRaisesRegex(AssertionError, r"\nBM1 FAIL cases=10 bad=10 models=mlp\n"):
            product.make_run(self.folder / "complete", "QEMU_RV64")

    def test_what_the_page_shows_works(self) -> None:
        page = Path(os.environ["PAGE"]).read_text()
        code = re.search(r"\n\n((?:    .*\n|\n)*    compiled = (?:    .*\n|.*\n)*?)\n\S", page)
        assert code is not None
        script = self.write("page.py", textwrap.dedent(code[1]))
        self.assertIn(f"net for {ISA}: kernels", self.passes("python", script))
        self.assertTrue((self.folder / f"net_{ISA}/report.json").is_file())

    def test_a_function_of_jax_arrays(self) -> None:
        self.assertEqual(
            self.passes("python", self.write("script.py", _JAX)), "jax\nTrue True False\n"
        )

    def test_model_files_by_their_paths_also_for_a_hart_without_floats(self) -> None:
        said = self.passes("python", self.write("script.py", _FILE))
        first = f"mlir\n{WHEEL.name.split('-')[1]}\nrv32imac\nrv32imac on qemu_virt_rv32\n"
        self.assertEqual(said[: len(first)], first)
        self.assertRegex(
            said, r"\nPASS: \d+ cases match the framework's own output \(.* s in the emulator\)\n"
        )
        self.assertRegex(
            said, r"\nFalse FAIL: .* differ from the framework's output: relu_pool \(.*\)\n$"
        )
        self.assertTrue((self.folder / "relu_pool_c/firmware/libgcc.a").is_file())

    def test_mistakes_are_one_sentence(self) -> None:
        lines = self.passes("python", self.write("script.py", _REFUSED)).splitlines()
        place = next(i for i, line in enumerate(_REFUSED.splitlines(), 1) if "# wrong" in line)
        self.assertEqual(len(lines), 6, lines)
        self.assertRegex(lines[0], rf"^bmc: error\[model-failed\]: .*\(at script.py:{place}\)$")
        self.assertEqual(
            lines[1], "example_inputs is Tensor, not a tuple: write (x,) for one input"
        )
        self.assertIn("invalid choice: 'rv65'", lines[2])
        self.assertIn("cannot be copied to another process: TypeError: cannot pickle", lines[3])
        self.assertIn("leave out example_inputs", lines[4])
        self.assertIn("a model file has inputs of its own", lines[5])

    def test_a_missing_extra_is_named(self) -> None:
        self.assertIsNone(importlib.util.find_spec("onnx"), "this test must not see the extra")
        self.write("model.onnx", "")
        done = self.run_in("bmc", "import", "model.onnx", "--out", "imported")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^bmc: error\[onnx-missing\]: .*needs the package onnx")
        self.assertNotIn("Traceback", done.stderr)

    def test_help(self) -> None:
        text = self.passes("bmc", "--help")
        for command in ("check", "import", "compile", "inspect", "verify", "export", "run"):
            self.assertRegex(text, rf"\n +{command} ")


class WheelTest(unittest.TestCase):
    def setUp(self) -> None:
        with zipfile.ZipFile(WHEEL) as wheel:
            self.dates = {member.date_time for member in wheel.infolist()}
            self.files = {name: wheel.read(name) for name in wheel.namelist()}
        (info,) = {name.split("/")[0] for name in self.files if ".dist-info/" in name}
        self.info = info

    def test_it_requires_exactly_what_is_locked(self) -> None:
        metadata = self.files[f"{self.info}/METADATA"].decode()
        required = re.findall(r"^Requires-Dist: (\S+)==([^\s;]+)(.*)$", metadata, re.MULTILINE)
        self.assertEqual(len(required), metadata.count("Requires-Dist"))
        for name, version, _ in required:
            self.assertIn(f"\n{name}=={version} \\\n", LOCK)
        extras = {name: re.findall(r'"(\w+)"', condition) for name, _, condition in required}
        self.assertEqual(extras["iree-base-compiler"], [])
        for extra, package in (("torch", "torch-mlir"), ("tensorflow", "keras"), ("onnx", "onnx")):
            self.assertEqual(extras[package], [extra])
        self.assertEqual(
            re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE),
            ["gguf", "jax", "onnx", "tensorflow", "torch"],
        )

    def test_a_package_that_is_not_locked_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            make_wheel.requirements(["nowhere"], make_wheel.locked(LOCK))

    def test_it_has_the_licenses_and_no_tests(self) -> None:
        named = re.findall(
            r"(?m)^License-File: (.*)$", self.files[f"{self.info}/METADATA"].decode()
        )
        licenses = {path.name: path for path in map(Path, os.environ["LICENSES"].split())}
        self.assertEqual(named, list(licenses))
        for name, path in licenses.items():
            self.assertEqual(self.files[f"{self.info}/licenses/{name}"], path.read_bytes())
        for name in self.files:
            self.assertRegex(
                name, rf"^(bmc/|ironcast/(__init__|errors|session)\.py$|{re.escape(self.info)}/)"
            )
            self.assertNotRegex(name, r"_test\.py|BUILD")
        self.assertIn("bmc/isas.bzl", self.files)
        self.assertIn("bmc/export/runtime/runtime_bm/bm.h", self.files)

    def test_archives_for_harts_without_floats_are_small_and_name_no_folder(self) -> None:
        archives = {name: data for name, data in self.files.items() if name.endswith(".a")}
        self.assertEqual(
            {name.removeprefix("bmc/libcalls/") for name in archives},
            {
                *("rv32imac/0_libsoft_float.a", "rv32imac/1_libgcc.a"),
                *("rv32imc/0_libsoft_float.a", "rv32imc/1_libgcc.a"),
                "rv32imafc_zve32f_zvl128b/0_libgcc.a",
            },
        )
        self.assertLess(sum(len(zlib.compress(data)) for data in archives.values()), 500_000)
        for name, data in archives.items():
            self.assertNotIn(b".debug_line", data, name)

    def test_the_record_has_the_hash_of_every_file(self) -> None:
        record = f"{self.info}/RECORD"
        rows = [line.split(",") for line in self.files[record].decode().splitlines()]
        self.assertEqual({row[0] for row in rows}, set(self.files))
        for name, sha256, size in rows:
            data = self.files[name]
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            expected = ("", "") if name == record else (f"sha256={digest}", str(len(data)))
            self.assertEqual((sha256, size), expected, name)

    def test_the_same_files_give_the_same_bytes(self) -> None:
        self.assertEqual(self.dates, {(1980, 1, 1, 0, 0, 0)})

        def made(*names: str) -> bytes:
            out = io.BytesIO()
            make_wheel.write(out, "1", {name: name.encode() for name in names}, "", {})
            return out.getvalue()

        self.assertEqual(made("a", "b"), made("b", "a"))
        self.assertNotEqual(made("a", "b"), made("a", "c"))


if __name__ == "__main__":
    unittest.main()
