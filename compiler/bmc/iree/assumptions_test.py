"""Pins what bmc assumes about IREE, one small test per assumption. Start here to take another IREE.

Assumptions that need a compiled model are tested with the code that makes them: the executable ABI with
elf/kernels.py, the host program's imports with host/, the form of quantization with rewrites/quantization/rounding.py,
and gathers from slices with rewrites/iree/strided_gathers.py.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
import subprocess
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support
from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc import reference, target
from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import DType
from bmc.iree import phases, tool
from bmc.iree.tool import IreeTool
from bmc.reference import HostModel

_REPORTS = Path("docs/upstream")


def _reported(name: str) -> str:
    """Returns the model of a report."""
    report = (_REPORTS / f"{name}.md").read_text(encoding="utf-8")
    (module,) = re.findall(r"^```mlir\n(.*?)^```", report, re.M | re.S)
    return str(module)


def _help(program: str) -> str:
    argv = [str(tool.find(program)), "--help-hidden"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


class FlagsTest(unittest.TestCase):
    def test_iree_compile_has_every_flag_and_phase(self) -> None:
        known = _help("iree-compile")
        wide = (Signature("f", (TensorInfo("x", DType.F64, (1,)),), ()),)
        flags = {flag for isa in target.ISA_NAMES for flag in target.find(isa).iree_flags()}
        flags |= {*phases.import_flags(wide, has_half_floats=False), phases.HOIST_NO_MORE}
        flags |= {phases.BINDINGS_APART, phases.PADDINGS_WITHIN}
        flags |= {"--iree-llvmcpu-embedded-linker-path=x", "--emit-mlir-bytecode"}
        for flag in flags:
            name = flag.partition("=")[0]
            self.assertRegex(known, rf"(?m)^\s+{re.escape(name)}\b", flag)
        for phase in phases.PHASES[1:]:
            listed = re.search(rf"(?m)^\s+=?{re.escape(phase.name)}\s", known) is not None
            # Phases that only iree-opt reaches have names that bmc made up.
            self.assertIs(listed, not phase.passes, phase.name)

    def test_iree_opt_has_every_pass(self) -> None:
        known = _help("iree-opt")
        pipelines = [phase.passes for phase in phases.PHASES if phase.passes]
        self.assertEqual(len(pipelines), 2)
        for pipeline in pipelines:
            for name in re.findall(r"\biree-[\w-]+", pipeline):
                self.assertRegex(known, rf"(?m)^\s+--{name}\b")


class BindingsTest(unittest.TestCase):
    def test_affine_expressions_come_as_what_they_are(self) -> None:
        with ir.Context():
            attribute = ir.Attribute.parse("affine_map<(d0, d1) -> (d0 * 2 + d1, d1 floordiv 2)>")
            total, other = ir.AffineMapAttr(attribute).value.results
            self.assertIsInstance(total, ir.AffineAddExpr)
            self.assertIsInstance(total.lhs, ir.AffineMulExpr)
            self.assertEqual((total.lhs.lhs.position, total.lhs.rhs.value), (0, 2))
            self.assertNotIsInstance(other, (ir.AffineAddExpr, ir.AffineMulExpr, ir.AffineDimExpr))

    def test_named_operations_have_maps_and_a_body(self) -> None:
        with ir.Context():
            module = ir.Module.parse(
                "func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>) {\n"
                "  %0 = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>)"
                " outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>\n  return\n}\n"
            )
            op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
            self.assertEqual(len(linalg.get_indexing_maps(op)), 3)
            names = [each.operation.name for each in op.regions[0].blocks[0].operations]
            self.assertEqual(names, ["arith.mulf", "arith.addf", "linalg.yield"])


class LinkerTest(support.FolderTest):
    def test_iree_compile_calls_the_linker_that_it_is_given(self) -> None:
        script = self.folder / "link.sh"
        script.write_text("#!/bin/sh\necho called > called\nexit 1\n", encoding="utf-8")
        script.chmod(0o755)
        self.write("source.mlir", support.ADD)
        flags = (
            *target.find("rv64gc").iree_flags(),
            f"--iree-llvmcpu-embedded-linker-path={script}",
        )
        iree = IreeTool(self.folder, self.folder / "reproducer")
        self.refuses("op-rejected", call=lambda: iree.compile("source.mlir", "o.mlirbc", *flags))
        self.assertTrue((self.folder / "called").exists())


class HalfFloatsTest(support.FolderTest):
    def test_subnormal_numbers_become_zeros_as_reported(self) -> None:
        # If they do not, README.md need not speak of them.
        wide, half = (TensorInfo("x", dtype, (4,)) for dtype in (DType.F32, DType.F16))
        signatures = (Signature("main", (wide,), (half,)),)
        path = self.write("half.mlir", _reported("iree-half-subnormals"))
        host = HostModel.compile(path, signatures, self.folder / "reproducer")
        given = np.array([1.0, 2.0**-14, 3e-5, -1e-6], np.float32)
        (got,) = host.run((given,), 0)
        self.assertEqual(got.tolist(), [1.0, 2.0**-14, 0.0, 0.0])
        self.assertTrue(given.astype(np.float16).all())


class DivisionTest(support.FolderTest):
    def host(self) -> HostModel:
        path = self.write("remainder.mlir", _reported("iree-masked-division"))
        inputs = TensorInfo("x", DType.F32, (3, 4, 76)), TensorInfo("d", DType.I64, (76,))
        signature = Signature("main", inputs, (TensorInfo("r", DType.I64, (3, 76)),))
        return HostModel.compile(path, (signature,), self.folder / "reproducer")

    def test_the_host_divides_only_what_there_is(self) -> None:
        x = np.random.default_rng(1).standard_normal((3, 4, 76)).astype(np.float32)
        divisors = np.full(76, 2, np.int64)
        (got,) = self.host().run((x, divisors))
        np.testing.assert_array_equal(got, x.argmax(1) % 2)

    def test_masked_lanes_divide_by_zero_as_reported(self) -> None:
        # If they do not, x86-64 needs no flag of its own. This model's lanes are masked for the oldest CPUs alone.
        flags = tuple(
            flag.replace("x86-64-v2", "generic")
            for flag in reference.HOST_FLAGS
            if flag != target.WHOLE_VECTORS
        )
        with mock.patch.object(reference, "HOST_FLAGS", flags):
            host = self.host()
        case = np.ones((3, 4, 76), np.float32), np.full(76, 2, np.int64)
        process = multiprocessing.get_context("fork").Process(target=host.run, args=(case,))
        process.start()
        process.join()
        self.assertEqual(process.exitcode, -signal.SIGFPE)


if __name__ == "__main__":
    unittest.main()
