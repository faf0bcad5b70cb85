"""An import gives the same bytes on every machine.

Imports one model of each framework with two settings of the CPU and from two places.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import unittest
from pathlib import Path

import support

from bmc import arithmetic

_MODELS = """import numpy as np

from bmc import spec

RNG = np.random.default_rng(0)


def arrays(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def cases(count, *shape):
    return tuple((arrays(1, *shape),) for _ in range(count))


def given(module, inputs, calibration=()):
    close = spec.Tolerance(1e-3, 1e-3)
    return spec.ModelSpec(module, inputs, close, calibration=calibration)


def torch_model():
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(800, 10)
    )
    images = torch.from_numpy(arrays(16, 3, 12, 12))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        model(images).softmax(-1).square().sum().backward()
        optimizer.step()
    return given(model, cases(4, 3, 12, 12), cases(8, 3, 12, 12))


def keras_model():
    import keras

    keras.utils.set_random_seed(0)
    layers = [keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.MaxPooling2D()]
    layers += [keras.layers.Flatten(), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((12, 12, 3)), *layers])
    model.compile("adam", "mse")
    model.fit(arrays(16, 12, 12, 3), arrays(16, 10), 8, 2, verbose=0)
    return given(model, cases(4, 12, 12, 3), cases(8, 12, 12, 3))


def jax_model():
    import jax.numpy as jnp

    weight = np.linalg.qr(arrays(300, 100))[0]
    return given(lambda x: jnp.tanh(x @ weight), cases(4, 300))


def onnx_model():
    from onnx import helper, numpy_helper

    weight = np.linalg.qr(arrays(300, 100))[0]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Erf", ["y"], ["z"])],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 300])],
        [helper.make_tensor_value_info("z", 1, [1, 100])],
        [numpy_helper.from_array(weight, "w")],
    )
    opset = helper.make_opsetid("", 17)
    data = helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
    return given(spec.ModelFile(".onnx", data), cases(4, 300), cases(8, 300))
"""

# Variables that a user's shell or another machine may set. None of them may reach a framework.
_OTHER_MACHINE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS",
    "MKL_CBWR": "AVX2",
    "MKL_NUM_THREADS": "2",
    "NPY_DISABLE_CPU_FEATURES": "",
    "OMP_NUM_THREADS": "2",
    "ONEDNN_DEFAULT_FPMATH_MODE": "ANY",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "PYTHONHASHSEED": "7",
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "TF_NUM_INTRAOP_THREADS": "2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}
# Another CPU below the environment, if this machine's CPU can pretend to be one.
_OTHER_CPU = {"LD_PRELOAD": str(Path(os.environ["OTHER_CPU"]).absolute())}
_CPU_INFO = Path("/proc/cpuinfo").read_text(encoding="utf-8")
# Runs several commands of bmc in one process, each an argument: loading a framework takes seconds.
_COMMANDS = (
    "import sys; from bmc import arithmetic, cli; {};"
    " sys.exit(any([cli.main(line.split()) for line in sys.argv[1:]]))"
)
_PINNED = _COMMANDS.format("arithmetic.enter()")
# Without the pinning that is tested here.
_UNPINNED = _COMMANDS.format("arithmetic.pin = lambda: None")


class ArithmeticTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("model.py", _MODELS)

    def elsewhere(self) -> tuple[Path, list[str]]:
        """Returns another folder with the model, in which the packages have other paths."""
        folder = self.folder / "elsewhere"
        folder.mkdir()
        shutil.copy(self.folder / "model.py", folder)
        links = [folder / f"path{number}" / "site-packages" for number in range(len(sys.path))]
        for link, entry in zip(links, sys.path, strict=True):
            link.parent.mkdir()
            link.symlink_to(Path(entry).absolute())
        return folder, [str(link) for link in links]

    def bytes_of(
        self,
        *models: str,
        machine: dict[str, str],
        program: str,
        place: tuple[Path, list[str]] | None = None,
    ) -> dict[str, str]:
        """Imports models (factory and options) in a separate process; returns hashes of all files."""
        folder, path = place or (self.folder, sys.path)
        out = folder / f"out{len(list(folder.iterdir()))}"
        # As the build imports it: IREE's host runtime, which then has a step of its own, changes no file.
        lines = [
            f"import model.py:{model} --no-host-check --out {out}/{n}"
            for n, model in enumerate(models)
        ]
        out.mkdir()
        done = support.python("-c", program, *lines, cwd=folder, path=path, env=machine)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {
            str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(out.glob("*/*"))
        }

    def same_bytes(self, *models: str) -> None:
        other = _OTHER_MACHINE | _OTHER_CPU
        here = self.bytes_of(*models, machine={}, program=_PINNED)
        there = self.bytes_of(*models, machine=other, program=_PINNED, place=self.elsewhere())
        self.assertEqual(here, there)
        names = ("cases.npz", "import.json", "model.mlirbc")
        self.assertEqual(list(here), [f"{n}/{name}" for n in range(len(models)) for name in names])

    def test_pytorch(self) -> None:
        self.same_bytes("torch_model", "torch_model --quantize int8")

    def test_keras_and_litert(self) -> None:
        self.same_bytes("keras_model", "keras_model --quantize int8")

    def test_jax(self) -> None:
        self.same_bytes("jax_model")

    def test_onnx(self) -> None:
        self.same_bytes("onnx_model", "onnx_model --quantize int8")

    def test_without_pinning_bytes_differ(self) -> None:
        default = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
        here = self.bytes_of("torch_model", machine=default, program=_UNPINNED)
        there = self.bytes_of("torch_model", machine=_OTHER_MACHINE, program=_UNPINNED)
        self.assertNotEqual(here["0/model.mlirbc"], there["0/model.mlirbc"])
        self.assertNotEqual(here["0/cases.npz"], there["0/cases.npz"])

    def test_the_other_cpu_is_seen(self) -> None:
        script = "import torch; print(torch.backends.cpu.get_cpu_capability())"

        def seen(more: dict[str, str]) -> str:
            done = support.python("-c", script, env=more)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        has_more = {"cpuid_fault", "avx512f"} <= set(_CPU_INFO.split())
        self.assertEqual(seen(_OTHER_CPU), "AVX2\n" if has_more else seen({}))

    def test_eigen_divides_by_the_sizes_that_are_set(self) -> None:
        """A sum of 2,048 products, which Eigen splits, depends on the sizes, so they reach that Eigen."""
        script = (
            "from pathlib import Path; from bmc import arithmetic, eigen_caches;"
            " arithmetic.pin(); import numpy as np, tensorflow as tf;"
            " folder = Path(tf.__file__).parent; libraries = eigen_caches.LIBRARIES['tensorflow'];"
            " found = [v for lib in libraries for v in eigen_caches.variables(folder / lib)];"
            " assert all(tuple(sizes) == eigen_caches.SIZES and known.value for sizes, known in found);"
            " assert len(found) == 4, len(found);"
            " x = tf.constant(np.random.default_rng(0).standard_normal((8, 16, 16, 16)), 'float32');"
            " total = lambda: tf.raw_ops.Conv2DBackpropFilter(input=x, filter_sizes=[3, 3, 16, 16],"
            " out_backprop=x, strides=[1] * 4, padding='SAME').numpy().tobytes();"
            " once = total(); assert total() == once;"
            " eigen_caches.SIZES = 48 << 10, 2 << 20, 256 << 20;"
            " [eigen_caches.write(folder / library) for library in libraries];"
            " assert total() != once"
        )
        done = support.python("-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)


class EnvironmentTest(unittest.TestCase):
    def test_the_users_variables(self) -> None:
        kept = {"HOME": "/home/me", "TF_CPP_MIN_LOG_LEVEL": "0"}
        lost = {"DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx512"}
        got = arithmetic.pinned(kept | lost)
        self.assertEqual(got, arithmetic.pinned({}) | kept)
        self.assertEqual(arithmetic.pinned(got), got)

    def test_a_program_is_started_anew_once(self) -> None:
        code = (
            "import os; from bmc import arithmetic; os.environ['OMP_NUM_THREADS'] = '3';"
            " arithmetic.enter(); print(os.environ['OMP_NUM_THREADS'], os.environ['GLIBC_TUNABLES'][:5])"
        )
        done = support.python("-c", code)
        # The script changes a variable that enter() has set. Without the mark it would restart forever.
        self.assertEqual(done.stdout, "3 glibc\n")


if __name__ == "__main__":
    unittest.main()
