"""plan.c and header of a tiny model as committed text, and the plan's numbers against its C ABI.

When the text is meant to change, rewrite the golden files and read the diff:
    UPDATE_GOLDEN=1 PYTHONPATH=compiler python -m bmc.emit.plan_c_test
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
import unittest
from pathlib import Path

from bmc import target
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.elf import kernels
from bmc.emit import golden_c, model_h, plan_c
from bmc.host.program import ALIGNMENT, Run
from bmc.plan import tables
from bmc.plan.tables import (
    Access,
    Binding,
    BindingPatch,
    Command,
    CommandKind,
    ConstantPatch,
    Plan,
    Region,
    Tensor,
)

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
        Command(
            CommandKind.FILL,
            True,
            0,
            (0, 0, 0),
            (7, 4),
            (Binding(Region.ARENA, 64, 64, Access.WRITE, 4),),
        ),
        Command(
            CommandKind.DISPATCH,
            False,
            0,
            (2, 1, 1),
            (1, 0xFFFFFFFF),
            (
                Binding(Region.ARENA, 0, 64, Access.READ, 64),
                Binding(Region.WEIGHTS, 64, 128, Access.READ, 32),
                Binding(Region.ARENA, 64, 64, Access.READ | Access.WRITE, 64),
            ),
        ),
        Command(
            CommandKind.DISPATCH,
            True,
            1,
            (1, 2, 3),
            (),
            (Binding(Region.ARENA, 128, 4, Access.WRITE, 1),),
        ),
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
        self.check("tiny.h", model_h.source(_PLAN, _KERNELS, target.find("rv64gcv_zvl256b")))

    def test_every_number_shows(self) -> None:
        good = plan_c.source(_PLAN, _KERNELS)
        command = _PLAN.commands[1]
        for other in (
            dataclasses.replace(command, workgroups=(3, 1, 1)),
            dataclasses.replace(command, constants=(1, 2)),
            dataclasses.replace(command, barrier=True),
            dataclasses.replace(command, export_index=1),
            dataclasses.replace(command, bindings=command.bindings[:2]),
        ):
            commands = (_PLAN.commands[0], other, _PLAN.commands[2])
            changed = dataclasses.replace(_PLAN, commands=commands)
            self.assertNotEqual(good, plan_c.source(changed, _KERNELS))

    def test_checks_are_over_whole_words(self) -> None:
        kernels_ = dataclasses.replace(_KERNELS, elf=bytes(5), image=bytes(8))
        text = plan_c.source(dataclasses.replace(_PLAN, weights_bytes=257), kernels_)
        self.assertIn(".end = tiny_weights + 260u}", text)
        self.assertIn(".end = tiny_kernels_elf + 8u}", text)
        self.assertIn(".end = tiny_kernels + 8u}", text)

    def test_empty_tables_are_left_out(self) -> None:
        text = plan_c.source(_EMPTY, None)
        self.assertNotIn("[0]", text)
        self.assertNotIn("commands", text)
        self.assertNotIn(".weights =", text)
        self.assertNotIn("[BM_PART_KERNELS]", text)
        self.assertNotIn("[BM_PART_WEIGHTS]", text)
        self.assertIn(".strings = {offsetof(tables_t, strings), 10}", text)

    def test_tables_that_a_driver_changes_are_variables(self) -> None:
        fill, *others = _PLAN.commands
        for patch, changed, constant in (
            (BindingPatch(0, 0, 0, 320), "bindings", "constants"),
            (ConstantPatch(0, 0), "constants", "bindings"),
        ):
            commands = (dataclasses.replace(fill, patches=(patch,)), *others)
            text = plan_c.source(dataclasses.replace(_PLAN, commands=commands), _KERNELS)
            self.assertRegex(text, rf"(?m)^static \w+ k_{changed}\[\] = {{")
            self.assertRegex(text, rf"\.{changed} = {{0, \d+}}")
            self.assertIn(f".{changed} = k_{changed},", text)
            self.assertIn(f".{constant} = {{offsetof(tables_t, {constant}),", text)
            self.assertNotIn(f"k_{constant}", text)

    def test_drivers_are_numbered_without_the_entries_that_have_none(self) -> None:
        (plain,) = _PLAN.entries
        driven = dataclasses.replace(plain, driver=(Run(0, 1),))
        text = plan_c.source(dataclasses.replace(_PLAN, entries=(driven, plain, driven)), _KERNELS)
        self.assertEqual(
            re.findall(r"\.driver = (\w+)", text), ["0", "BM_PLAN_NO_DRIVER", "1"], text
        )
        self.assertIn("k_drivers[] = {\n    drive_entry0,\n    drive_entry2,\n}", text)

    def test_a_name_is_there_once(self) -> None:
        entry = dataclasses.replace(_PLAN.entries[0], name="tokens")
        text = plan_c.source(dataclasses.replace(_PLAN, entries=(entry,)), _KERNELS)
        self.assertEqual(text.count("tokens"), 1)
        shared = f".name = {len('tiny0odd4name_0second0')}"
        self.assertEqual(text.count(f"{{{shared}, "), 2)


class AbiTest(unittest.TestCase):
    def setUp(self) -> None:
        self.abi = json.loads(_ABI.read_text(encoding="utf-8"))

    def agrees(self, numbers: type[enum.IntEnum] | type[enum.IntFlag], name: str) -> None:
        self.assertEqual({item.name: item.value for item in numbers}, self.abi["enums"][name])

    def test_enumerations(self) -> None:
        self.agrees(DType, "dtype")
        self.agrees(Region, "region")
        self.agrees(Access, "access")
        self.agrees(CommandKind, "command")
        self.agrees(target.PlanIsa, "isa")
        self.agrees(golden_c.PolicyKind, "golden_policy")
        self.assertEqual(tables.FLAG_BARRIER, self.abi["enums"]["command_flags"]["BARRIER"])

    def test_limits(self) -> None:
        limits = self.abi["enums"]["limits"]
        ours = {
            "ALIGNMENT": ALIGNMENT,
            "GOLDEN_ALIGNMENT": ALIGNMENT,
            "MAX_BINDINGS": tables.MAX_BINDINGS,
            "MAX_HARTS": tables.MAX_HARTS,
            "MAX_RANK": tables.MAX_RANK,
        }
        # The last two are constants of plan.h, which generated code names.
        self.assertEqual(ours, {name: limits[name] for name in ours})
        self.assertEqual(set(limits) - set(ours), {"LINKED", "NO_DRIVER"})

    def test_struct_sizes(self) -> None:
        for name, size in tables.STRUCT_BYTES.items():
            struct = self.abi["structs"][name]
            self.assertEqual({struct["bytes"], struct["bytes_32"]}, {size}, name)

    def test_emitted_fields_exist(self) -> None:
        fields = {field for struct in self.abi["structs"].values() for field in struct["fields"]}
        plan = dataclasses.replace(_PLAN, state_bytes=64, fast_bytes=128)
        text = plan_c.source(plan, _KERNELS)
        self.assertIn('k_fast[128] __attribute__((section(".bss.bm_fast"), aligned(64)))', text)
        emitted = {
            word.strip().split(" ")[0].removeprefix("{").removeprefix(".")
            for line in text.splitlines()
            for word in line.replace("{.", ", .").split(",")
            if word.strip().startswith(".")
        }
        self.assertIn("workgroup_count", emitted)
        self.assertEqual(emitted - fields, set())
        # Fields left out are zero in C: only those that are meant to be.
        rows = ("command", "binding", "tensor", "export", "entry")
        structs = ("bm_plan_t", *(f"bm_plan_{row}_t" for row in rows))
        needed = {field for name in structs for field in self.abi["structs"][name]["fields"]}
        absent = {"drivers", "functions", "table", "wait"}
        self.assertEqual(needed - emitted, absent)


if __name__ == "__main__":
    unittest.main()
