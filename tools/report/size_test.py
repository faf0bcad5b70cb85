"""Reports on a small link map in lld's format."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from blank import blank
from rich.console import Console

from bmc.report import Arena, Call, Command, Dispatch, Flash, Int8, Model
from tools.cli import UserError
from tools.report import image_report, link_map, show, size
from tools.report.files import save
from tools.report.report import Image, Ran
from tools.run import result

MAP = """\
             VMA              LMA     Size Align Out     In      Symbol
        80000000         80000000       60     4 .text
        80000000         80000000       10     4         bin/runtime_bm/crt/libcrt.a(start.o):(.text.bm_start)
        80000000         80000000        0     1                 _start
        80000010         80000010       20     4         bin/runtime_bm/libruntime_bm.a(plan_run.o):(.text.bm_plan_run)
        80000030         80000030       30     4         bin/boards/spike_rv64/libhal.a(board.o):(.text.bm_hal_exit)
        80001000         80001000      800  4096 .bm.kernels
        80001000         80001000      800  4096         bin/models/m/_objs/m/kernels.o:(.bm.kernels.m)
        80001800         80001800      100    64 .bm.weights
        80001800         80001800       c0    64         bin/models/m/_objs/m/weights.o:(.bm.weights.m)
        80002000         80002000      200    64 .bm.arena
        80002000         80002000      200    64         bin/models/m/_objs/f/firmware.o:(.bss.bm_arena)
        80002200         80002200      180     8 .bss
        80002200         80002200      100     8         bin/models/m/_objs/m/plan.o:(.bss.k_state)
        80002300         80002300       80     8         bin/boards/spike_rv64/libhal.a(board.o):(.bss.buffer)
        80004000         80004000     4000  4096 .bm.stack
               0                0       99     1 .comment
               0                0       99     1         <internal>:(.comment)
"""

BOARD: dict[str, Any] = {
    "memory": [{"length": "0x10000", "name": "ram", "origin": "0x80000000"}],
    "name": "spike_rv64",
}
FLASH = blank(Flash, kernels_bytes=0x800, weights_bytes=0xC0)
MODEL = blank(Model, arena=blank(Arena, bytes=0x200), flash=FLASH, name="m", state_bytes=0x100)


def report() -> Image:
    return image_report.build(MAP.splitlines(), BOARD, [MODEL])


def in_flash(model: Model, **sizes: int) -> Model:
    """The model with other sizes in flash."""
    return replace(model, flash=replace(model.flash, **sizes))


def with_arena(model: Model, size: int) -> Model:
    return replace(model, arena=replace(model.arena, bytes=size))


class LinkMapTest(unittest.TestCase):
    def test_every_byte_is_counted_once(self) -> None:
        pieces = link_map.parse(MAP.splitlines())
        self.assertEqual(
            sum(p.bytes for p in pieces), 0x60 + 0x800 + 0x100 + 0x200 + 0x180 + 0x4000
        )

    def test_padding_is_what_no_input_accounts_for(self) -> None:
        self.assertEqual(report().flash_bytes.padding, 0x40)

    def test_parts_in_other_workspaces(self) -> None:
        for origin, part in {
            "bin/external/ironcast/runtime_bm/plan/_objs/plan/plan_run.o:(.text.a)": "runtime",
            "bin/external/ironcast/runtime_bm/app/_objs/main/main.o:(.text.main)": "application",
            "bin/external/ironcast/boards/common/libriscv.a(riscv.o):(.text.a)": "board",
            "bin/boards/mine/_objs/hal/board.o:(.text.a)": "board",
            "bin/src/filter/_objs/filter/plan.o:(.rodata.a)": "plan",
            "bin/src/_objs/loop/loop.o:(.text.main)": "application",
            "bin/external/ironcast/third_party/libgcc/a.o:(.text)": "other",
            "external/debian_libgcc/root/libgcc.a(muldi3.o):(.text)": "other",
        }.items():
            self.assertEqual(link_map.part_of(origin), part, origin)


class ReportTest(unittest.TestCase):
    def test_parts(self) -> None:
        flash = report().flash_bytes
        self.assertEqual(flash.kernels, 0x800)
        self.assertEqual(flash.weights, 0xC0)
        self.assertEqual(flash.runtime, 0x20)
        self.assertEqual(flash.board, 0x30)
        self.assertEqual(flash.application, 0x10)
        self.assertEqual(flash.total, 0x60 + 0x800 + 0x100)

    def test_ram_and_memory(self) -> None:
        self.assertEqual(report().ram_bytes.arena, 0x200)
        self.assertEqual(report().ram_bytes.state, 0x100)
        self.assertEqual(report().ram_bytes.bss, 0x80)
        self.assertEqual(report().ram_bytes.stack, 0x4000)
        self.assertEqual(report().memory[0].used, 0x60 + 0x800 + 0x100 + 0x200 + 0x180 + 0x4000)

    def test_too_much_ram(self) -> None:
        total = 0x200 + 0x100 + 0x80 + 0x4000
        image_report.check_ram(report(), total)
        for ram, hint in {
            total - 1: f"give the bm_model of m ram = {0x300 - 1}",
            total - 0x300: "even without m it takes more",
        }.items():
            said = f"takes {total:,} bytes of RAM, {total - ram:,} more than its ram = {ram}: stack 16,384, arena 512, "
            with self.assertRaisesRegex(UserError, f"{said}.*; {hint}"):
                image_report.check_ram(report(), ram)

    def test_room(self) -> None:
        image_report.check_room(BOARD, [MODEL])
        large = in_flash(MODEL, weights_bytes=0x20000)
        with self.assertRaisesRegex(
            UserError,
            r"m does not fit into the ram of spike_rv64: at least 133,888 bytes needed, 65,536 available; "
            r"largest parts in bytes: weights 131,072, kernels 2,048, arena 512",
        ):
            image_report.check_room(BOARD, [large])

    def test_room_in_two_memories(self) -> None:
        flash = {"length": "0x1000", "name": "flash", "origin": "0x20000000"}
        board = {**BOARD, "memory": [flash, *BOARD["memory"]]}
        image_report.check_room(board, [MODEL])
        with self.assertRaisesRegex(UserError, "into the ram of .* arena 131,072"):
            image_report.check_room(board, [with_arena(MODEL, 0x20000)])
        with self.assertRaisesRegex(UserError, "into the ram of .* state 131,072"):
            image_report.check_room(board, [replace(MODEL, state_bytes=0x20000)])
        kernels = in_flash(MODEL, kernels_bytes=0x1000)
        with self.assertRaisesRegex(UserError, "into the flash of .* kernels 4,096"):
            image_report.check_room(board, [kernels])

    def test_room_in_memories_of_their_own(self) -> None:
        ram = BOARD["memory"][0]
        board = {
            "name": "placed",
            "memory": [
                {**ram, "name": "flash"},
                {**ram, "name": "xip", "length": 0x2000, "holds": ["weights"]},
                {**ram, "name": "tcm", "length": 0x3000, "holds": ["arena"]},
                {**ram, "name": "ram", "length": 0x100},
            ],
        }
        model = in_flash(with_arena(MODEL, 0x3000), kernels_bytes=0x1000, weights_bytes=0x2000)
        image_report.check_room(board, [model])
        for name, larger in (
            ("xip", in_flash(model, weights_bytes=0x2001)),
            ("tcm", with_arena(model, 0x3001)),
            ("ram", replace(model, state_bytes=0x101)),
            ("flash", in_flash(model, kernels_bytes=0x10001)),
        ):
            with self.assertRaisesRegex(
                UserError, f"does not fit into the {name} of placed: at least"
            ):
                image_report.check_room(board, [larger])

    def test_room_of_several(self) -> None:
        # One arena, the larger one: 0xF000 and 0x8000 would not both fit.
        light = with_arena(in_flash(MODEL, kernels_bytes=0, weights_bytes=0), 0xF000)
        image_report.check_room(BOARD, [light, with_arena(light, 0x8000)])
        # But two states, and two sets of kernels.
        with self.assertRaisesRegex(UserError, "state 65,536"):
            image_report.check_room(BOARD, [replace(light, state_bytes=0x8000)] * 2)
        heavy = replace(in_flash(MODEL, kernels_bytes=0x9000), name="n")
        image_report.check_room(BOARD, [MODEL, heavy])
        with self.assertRaisesRegex(
            UserError, r"n with n does not fit into the ram .* kernels 73,728, "
        ):
            image_report.check_room(BOARD, [heavy, heavy])


class RunTest(unittest.TestCase):
    LINES = (
        "BM1 BOOT isa=i vlen=256 board=b",
        "BM1 MODEL name=m",
        "BM1 DISPATCH index=0 instret=10",
        "BM1 STATS instret=11 cycles=0 arena=8 stack=100 walker=- workgroup=-",
        "BM1 MODEL name=n",
        "BM1 DISPATCH index=0 instret=20",
        "BM1 DISPATCH index=1 instret=10",
        "BM1 DISPATCH index=1 instret=20",
        "BM1 STATS instret=52 cycles=0 arena=8 stack=120 walker=2 workgroup=1",
        "BM1 PASS cases=2",
    )

    def test_each_model_is_measured_and_the_image(self) -> None:
        run = size.run_summary(result.Outcome(self.LINES, 0))
        self.assertEqual([m.name for m in run.models], ["m", "n"])
        self.assertEqual(run.models[1].commands, (Ran(0, 20, 1), Ran(1, 30, 2)))
        self.assertEqual((run.instructions, run.stack_bytes), (63, 120))

    def measured(self, kernel: str, notes: tuple[str, str] = ("", "")) -> Image:
        """The report of two models and their run; `kernel` is the function of the only dispatch."""
        dispatch = blank(Command, function=kernel, kind="dispatch", layer="fc (Linear)")
        call = Call("//k:dense", "dense", "") if kernel == "called" else None
        m = replace(
            MODEL,
            arena=blank(Arena, bytes=0x200, liveness_bound_bytes=0x100),
            code={},
            commands=(dispatch,),
            dispatches=(blank(Dispatch, name=kernel, call=call),),
            int8=blank(Int8, note=notes[0]),
            isa="i",
        )
        n = replace(
            m,
            commands=(blank(Command, kind="fill"), dispatch),
            int8=blank(Int8, note=notes[1]),
            name="n",
        )
        image = image_report.build(MAP.splitlines(), BOARD, [m, n])
        return replace(image, run=size.run_summary(result.Outcome(self.LINES, 0)))

    def test_what_is_shown(self) -> None:
        kernel = "matmul_[red]_" + 100 * "x"
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            report = Path(folder) / "report.json"
            save(report, self.measured(kernel))
            show.main([str(report)])
        text = out.getvalue()
        self.assertIn("m, n (i) on spike_rv64\n", text)
        self.assertRegex(text, r"\nRAM *\n  arena +512 *\n")
        self.assertIn("Arena of n 512; liveness bound 256; ratio 2.00\n", text)
        self.assertIn("n: one inference at VLEN 256\n", text)
        self.assertEqual(text.count("outside kernels, per dispatch"), 1)
        # In a file or a pipe nothing is folded, and nothing in a name is markup.
        row = rf"30 +60.0 % +2 +fc \(Linear\)  {re.escape(kernel)} *\n +20 +40.0 % +1 +fill"
        self.assertRegex(text, row)

    def shown(self, report: Image) -> str:
        show.show(report, Console(file=(out := io.StringIO()), width=200))
        return out.getvalue()

    def test_a_board_without_a_run(self) -> None:
        sizes = replace(self.measured("k"), run=None)
        self.assertRegex(self.shown(sizes), "(?s)Memory ram.*leave out --board for those\n$")

    def test_what_int8_does_not_gain(self) -> None:
        report = self.measured("k", ("", "int8 gains little here."))
        said = re.findall("(?m)^.*int8.*$", self.shown(report))
        self.assertEqual(said, ["n: int8 gains little here."])

    def test_what_a_library_computes(self) -> None:
        mark = r"called  \(dense of //k:dense\)"
        self.assertRegex(self.shown(self.measured("called")), f"(?s){mark}.*{mark}")

    def test_libraries_and_devices_are_shown_beside_what_there_was(self) -> None:
        report = self.measured("called")
        device = (
            "BM1 BOOT isa=i vlen=256 board=b",
            "BM1 MODEL name=m",
            "BM1 DISPATCH index=0 instret=100 busy=50 waited=20",
            "BM1 DEVICE busy=50 waited=15",
            "BM1 STATS instret=1150 cycles=0 arena=8 stack=100 walker=- workgroup=-",
            "BM1 PASS cases=1",
        )
        plain = [line.replace("instret=100 busy=50 waited=20", "instret=6000") for line in device]
        plain = [line.replace("=1150", "=7050") for line in plain if "DEVICE" not in line]
        on, off = (result.Outcome(tuple(lines), 0) for lines in (device, plain))
        report = replace(report, models=report.models[:1])
        report = size.with_run(report, on, off, clocks=("a cycle is a cycle",))
        text = self.shown(report)
        row = r"6,000 +100 +50 +20 +50\.0 +fc \(Linear\)  called  \(dense of //k:dense\) *\n"
        self.assertRegex(text, row + r" +6,000 +100 +50 +20 +50\.0 +together")
        for line in (
            "7,050 instructions without libraries, 1,150 with them",
            "busy for 50 cycles, 35 of them beside work of the hart, which waited for 15",
            "Cycles: a cycle is a cycle",
        ):
            self.assertIn(line, text)
        # In gates, instructions do not say how many cycles they wait.
        in_gates = replace(report, run=replace(report.recorded, clocks=()))
        self.assertIn("busy for 50 cycles; the hart waited for 15 of its", self.shown(in_gates))
        # Without libraries, nothing of this.
        self.assertNotIn("without", self.shown(self.measured("called")))

    def test_other_commands_without_libraries_cannot_be_compared(self) -> None:
        other = tuple(line.replace("index=1", "index=2") for line in self.LINES)
        on, off = (result.Outcome(lines, 0) for lines in (self.LINES, other))
        report = self.measured("called")
        with self.assertRaisesRegex(UserError, "n has other commands without"):
            size.with_run(report, on, off)
        same = size.with_run(report, on, on)
        self.assertEqual(_without(same)[1], 52)

    def test_a_model_without_libraries_has_nothing_to_compare(self) -> None:
        report = self.measured("called")
        first, second = report.models
        report = replace(report, models=(replace(first, dispatches=()), second))
        outcome = result.Outcome(self.LINES, 0)
        self.assertEqual(_without(size.with_run(report, outcome, outcome)), [None, 52])
        self.assertEqual(_without(size.with_run(report, outcome)), [None, None])

    def test_cycles_are_shown_of_hardware_only(self) -> None:
        counts = iter((900, 5000, 30, 20))
        lines = tuple(
            f"{line} cycles={next(counts)}"
            if " DISPATCH " in line
            else line.replace("cycles=0", "cycles=7777")
            for line in self.LINES
        )
        report = self.measured("k")
        on = size.with_run(report, result.Outcome(lines, 0), cycles_of="a core in gates")
        self.assertEqual(on.recorded.models[1].cycles, 7777)
        self.assertEqual([row.cycles for row in on.recorded.models[1].commands], [5000, 50])
        # By cycles, though not by instructions, the fill is what takes most.
        rows = r" 20 +5,000 +250\.00 +99\.0 % +1 +fill *\n +30 +50 +1\.67 +1\.0 % +2 +fc \(Linear"
        self.assertRegex(self.shown(on), rows)
        self.assertIn("Cycles are those of a core in gates", self.shown(on))
        self.assertNotIn("modeled", self.shown(on))
        kernels = (replace(on.models[0].dispatches[0], modeled_cycles=1234),)
        models = tuple(replace(model, dispatches=kernels) for model in on.models)
        rows = r" 20 +5,000 +250\.00 +99\.0 % +1 +fill *\n +30 +50 +1\.67 +2,468 +1\.0 % +2 +fc"
        self.assertRegex(self.shown(replace(on, models=models)), f"(?s)each +modeled.*{rows}")
        emulated = size.with_run(report, result.Outcome(lines, 0))
        self.assertNotIn("modeled", self.shown(replace(emulated, models=models)))
        self.assertIsNone(emulated.recorded.models[1].cycles)
        self.assertNotIn("cycles", self.shown(emulated).lower())

    def test_a_narrow_terminal(self) -> None:
        kernel = 100 * "z"
        out = io.StringIO()
        show.show(self.measured(kernel), Console(file=out, width=60))
        self.assertLessEqual(max(map(len, out.getvalue().splitlines())), 60)
        # Once for each model: folded, not cut.
        self.assertEqual(out.getvalue().count("z"), 2 * len(kernel))

    def test_a_run_that_failed_is_no_measurement(self) -> None:
        with self.assertRaisesRegex(UserError, "the profile run failed"):
            size.run_summary(result.Outcome(self.LINES[:-1], 0))

    def test_a_run_that_lost_a_record_or_a_field_is_no_measurement(self) -> None:
        for kind in ("BOOT", "STATS"):
            lines = tuple(line for line in self.LINES if f" {kind} " not in line)
            with self.assertRaisesRegex(result.RecordError, f"{kind} records, not one"):
                size.run_summary(result.Outcome(lines, 0))
        for field in ("name=", "stack=", "instret="):
            lines = tuple(line.replace(field, "x") for line in self.LINES)
            with self.assertRaisesRegex(result.RecordError, f"`{field[:-1]}`"):
                size.run_summary(result.Outcome(lines, 0))


def _without(report: Image) -> list[int | None]:
    """What each model takes without kernel libraries."""
    plain = [measured.plain for measured in report.recorded.models]
    return [each.instructions if each else None for each in plain]


if __name__ == "__main__":
    unittest.main()
