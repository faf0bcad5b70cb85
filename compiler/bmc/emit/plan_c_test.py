"""plan.c and plan.h of a tiny model as committed text, and the plan's numbers against its C ABI.

When the text is meant to change, rewrite the golden files and read the diff:
    UPDATE_GOLDEN=1 PYTHONPATH=compiler python -m bmc.emit.plan_c_test
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import unittest
from pathlib import Path

from bmc import dtype, samples, target
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.elf import kernels
from bmc.emit import golden_c, plan_c
from bmc.host.program import ALIGNMENT
from bmc.plan import tables
from bmc.plan.tables import Binding, Command, CommandKind, Plan, Region, Tensor

_HERE = Path(__file__).parent
_ABI = _HERE.parents[2] / "runtime_bm/plan/plan_abi.json"

_PLAN = Plan(
    name="tiny",
    isa_bits=target.PlanIsa.RV64 | target.PlanIsa.V,
    vlen_bits=256,
    arena_bytes=320,
    weights_bytes=256,
    exports=(tables.Export('odd"name\\', 2, 3), tables.Export("second", 0, 1)),
    commands=(
        Command(CommandKind.FILL, True, 0, (0, 0, 0), (7, 4), (Binding(Region.ARENA, 64, 64),)),
        Command(
            CommandKind.DISPATCH,
            False,
            0,
            (2, 1, 1),
            (1, 0xFFFFFFFF),
            (
                Binding(Region.ARENA, 0, 64),
                Binding(Region.WEIGHTS, 64, 128),
                Binding(Region.ARENA, 64, 64),
            ),
        ),
        Command(CommandKind.DISPATCH, True, 1, (1, 2, 3), (), (Binding(Region.ARENA, 128, 4),)),
    ),
    entries=(
        tables.Entry(
            name="main",
            first_command=0,
            command_count=3,
            inputs=(Tensor(TensorInfo("tokens", DType.I64, (2, 4)), 0),),
            outputs=(
                Tensor(TensorInfo("scores", DType.F32, (16,)), 64),
                Tensor(TensorInfo("loss", DType.F32, ()), 128),
            ),
        ),
    ),
)
_EMPTY = dataclasses.replace(
    _PLAN,
    weights_bytes=0,
    exports=(),
    commands=(),
    entries=(tables.Entry("main", 0, 0, (), ()),),
)
_KERNELS = kernels.Kernels(
    elf=b"\x7fELF",
    image=b"",
    text=(),
    relocations=(),
    query=0,
    library=0,
    pointer_bytes=8,
    exports=(),
    arch="",
    loaded_bytes=4096,
)


class PlanTextTest(unittest.TestCase):
    maxDiff = None

    def check(self, file: str, text: str) -> None:
        path = _HERE / "golden" / f"{file}.golden"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"))

    def test_source(self) -> None:
        self.check("tiny_plan.c", plan_c.source(_PLAN, _KERNELS))

    def test_header(self) -> None:
        self.check("tiny_plan.h", plan_c.header(_PLAN, _KERNELS))

    def test_every_number_shows(self) -> None:
        good = plan_c.source(_PLAN, _KERNELS)
        command = _PLAN.commands[1]
        for other in (
            dataclasses.replace(command, workgroups=(3, 1, 1)),
            dataclasses.replace(command, constants=(1, 2)),
            dataclasses.replace(command, barrier=True),
            dataclasses.replace(command, ordinal=1),
            dataclasses.replace(command, bindings=command.bindings[:2]),
        ):
            commands = (_PLAN.commands[0], other, _PLAN.commands[2])
            changed = dataclasses.replace(_PLAN, commands=commands)
            self.assertNotEqual(good, plan_c.source(changed, _KERNELS))

    def test_empty_tables_are_null(self) -> None:
        text = plan_c.source(_EMPTY, None)
        self.assertNotIn("[] = {\n}", text)
        self.assertIn(".commands = 0,", text)
        self.assertIn(".weights = 0,", text)


class AbiTest(unittest.TestCase):
    def setUp(self) -> None:
        self.abi = json.loads(_ABI.read_text(encoding="utf-8"))

    def agrees(self, numbers: type[enum.IntEnum], name: str) -> None:
        self.assertEqual({item.name: item.value for item in numbers}, self.abi["enums"][name])

    def test_enumerations(self) -> None:
        self.agrees(DType, "dtype")
        self.agrees(Region, "region")
        self.agrees(CommandKind, "command")
        self.agrees(target.PlanIsa, "isa")
        self.assertEqual(tables.FLAG_BARRIER, self.abi["enums"]["command_flags"]["BARRIER"])

    def test_limits(self) -> None:
        limits = self.abi["enums"]["limits"]
        ours = {
            "ALIGNMENT": ALIGNMENT,
            "GOLDEN_ALIGNMENT": ALIGNMENT,
            "MAX_BINDINGS": tables.MAX_BINDINGS,
            "MAX_RANK": tables.MAX_RANK,
        }
        self.assertEqual(ours, limits)

    def test_golden_policies(self) -> None:
        ours = {
            "EXACT": golden_c._EXACT,
            "FLOAT": golden_c._FLOAT,
            "INT_STEP": golden_c._INT_STEP,
        }
        self.assertEqual(ours, self.abi["enums"]["golden_policy"])

    def test_struct_sizes(self) -> None:
        names = {
            "plan": "bm_plan_t",
            "entry": "bm_plan_entry_t",
            "export": "bm_plan_export_t",
            "command": "bm_plan_command_t",
            "binding": "bm_plan_binding_t",
            "tensor": "bm_plan_tensor_t",
        }
        for xlen, key in ((32, "bytes_32"), (64, "bytes")):
            theirs = {ours: self.abi["structs"][name][key] for ours, name in names.items()}
            self.assertEqual(dataclasses.asdict(tables.STRUCT_BYTES[xlen]), theirs)

    def test_emitted_fields_exist(self) -> None:
        fields = {field for struct in self.abi["structs"].values() for field in struct["fields"]}
        text = plan_c.source(_PLAN, _KERNELS)
        emitted = {
            word.strip().split(" ")[0].removeprefix("{").removeprefix(".")
            for line in text.splitlines()
            for word in line.replace("{.", ", .").split(",")
            if word.strip().startswith(".")
        }
        self.assertIn("workgroup_count", emitted)
        self.assertEqual(emitted - fields, set())
        # Fields left out are zero in C: only those that are meant to be.
        structs = ("bm_plan_t", "bm_plan_command_t", "bm_plan_binding_t", "bm_plan_tensor_t")
        needed = {field for name in structs for field in self.abi["structs"][name]["fields"]}
        self.assertEqual(needed - emitted, set())

    def test_element_sizes(self) -> None:
        for element in DType:
            self.assertEqual(element.byte_count, element.numpy.itemsize, element)
        self.assertEqual(dtype.from_hal(0x21000020), DType.F32)
        self.assertEqual(dtype.from_hal(0x13000008), DType.BOOL)
        case = samples.case((TensorInfo("x", DType.I8, (3,)),))
        self.assertEqual(dtype.from_numpy(case[0]), DType.I8)


if __name__ == "__main__":
    unittest.main()
