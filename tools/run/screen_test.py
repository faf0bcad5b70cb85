"""What people see of a run."""

from __future__ import annotations

import io
import unittest

from blank import blank
from rich.console import Console

from bmc.report import Command, Dispatch, Model
from tools.run import result
from tools.run.screen import Screen

BOOT = "BM1 BOOT isa=rv64gc vlen=0 board=b"
STATS = "BM1 STATS instret=1234 cycles=0 arena=64 stack=128 walker=- workgroup=-"


def case(number: int, outcome: str = "ok", differing: int = 3) -> str:
    return (
        f"BM1 CASE index={number} result={outcome} max_abs=1.5e-05 differing={differing} cosine=- "
        f"hash=00"
    )


def shown(
    *lines: str,
    reports: tuple[Model, ...] = (),
    terminal: bool = False,
    status: int = 0,
    raw: bool = False,
) -> str:
    """Returns what is printed of a run in which these lines follow BOOT, with this exit status after PASS."""
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=terminal, markup=False)
    screen = Screen(console, reports, raw)
    for line in (BOOT, *lines):
        screen.line(line)
    screen.flush()
    outcome = result.Outcome((BOOT, *lines), status)
    screen.verdict(result.judge(outcome), "PASS", " (1 s)")
    return out.getvalue()


class ScreenTest(unittest.TestCase):
    def test_a_case_is_a_line_with_its_instructions(self) -> None:
        text = shown("BM1 MODEL name=m", case(0), case(1), STATS, "BM1 PASS cases=2")
        first, second = (line for line in text.splitlines() if line.startswith("m, case"))
        self.assertRegex(first, r"^m, case 0 +PASS +error 1\.5e-05 +1,234 instructions$")
        self.assertRegex(second, r"^m, case 1 +PASS +error 1\.5e-05$")
        self.assertIn("\nPASS: 2 cases match the framework's own output (1 s)\n", text)
        self.assertNotIn("BM1", text)

    def test_many_cases_fold_but_not_those_that_differ(self) -> None:
        cases = [case(n, "mismatch" if n == 17 else "ok") for n in range(360)]
        text = shown("BM1 MODEL name=m", *cases, STATS, "BM1 FAIL cases=360 bad=1 models=m")
        self.assertRegex(text, r"m, 359 of 360 cases +PASS +error 1\.5e-05 +1,234 instructions\n")
        self.assertRegex(text, r"m, case 17 +FAIL +error 1\.5e-05\n")
        self.assertIn("\nFAIL: 1 of 360 cases differ from the framework's output: m (1 s)\n", text)
        self.assertLess(text.count("\n"), 8)

    def test_equal_bits_are_exact(self) -> None:
        text = shown("BM1 MODEL name=m", case(0, differing=0), STATS, "BM1 PASS cases=1")
        self.assertRegex(text, r"m +PASS +exact +1,234 instructions\n")
        self.assertIn("\nPASS: 1 case matches the framework's own output", text)

    def test_what_is_no_record_stays_as_it_is(self) -> None:
        self.assertIn("\n  [bold]0.87[/] x\n", shown("  [bold]0.87[/] x", "BM1 PASS cases=0"))

    def test_names_are_no_markup(self) -> None:
        fill = blank(Command, layer="[x]", kind="fill")
        report = blank(Model, name="[red]m", commands=(fill,))
        text = shown(
            "BM1 MODEL name=[red]m",
            "BM1 DISPATCH index=0 instret=10",
            case(0),
            STATS,
            "BM1 PASS cases=1",
            reports=(report,),
        )
        self.assertRegex(text, r"\n\[red\]m +PASS")
        self.assertRegex(text, r"10  \[x\]  fill\n")

    def test_devices(self) -> None:
        text = shown(
            "BM1 MODEL name=m",
            "BM1 DEVICE busy=12345 waited=678",
            case(0),
            STATS,
            "BM1 PASS cases=1",
        )
        self.assertRegex(
            text, r"m +PASS .*\n  devices busy for 12,345 cycles; the hart waited 678\n"
        )

    def test_dispatches_have_the_names_of_the_report(self) -> None:
        report = blank(
            Model,
            name="m",
            commands=(
                blank(Command, layer="fc", function="main_0_vecmat", kind="dispatch"),
                blank(Command, kind="fill"),
            ),
            dispatches=(blank(Dispatch, name="main_0_vecmat", op="vecmat"),),
        )
        lines = [
            f"BM1 DISPATCH index={n} instret={count}" for n, count in enumerate((10, 2000, 300))
        ]
        text = shown(
            "BM1 MODEL name=m",
            *lines,
            case(0),
            STATS,
            "BM1 PASS cases=1",
            reports=(report,),
        )
        self.assertRegex(text, r"2,000  fill\n +300  command 2\n +10  fc  vecmat\n")

    def test_harts_and_barriers_are_left_to_reports(self) -> None:
        dispatch = "BM1 DISPATCH index=0 instret=30 harts=10,20"
        text = shown("BM1 MODEL name=m", dispatch, "BM1 BARRIER instret=9", "BM1 PASS cases=0")
        self.assertIn(" 30  command 0\n", text)
        self.assertNotIn("BARRIER", text)

    def test_a_failure_is_one_sentence(self) -> None:
        for record, sentence in {
            "BM1 ERROR status=03018009 the kernels are built for x: use another hart": (
                "FAIL: the kernels are built for x: use another hart (status 03018009)"
            ),
            "BM1 TRAP cause=5 epc=80 tval=0 model=m dispatch=3 kernel=k": (
                "FAIL: a trap in command 3 of m, kernel k: cause 5, epc 80, tval 0"
            ),
            "BM1 TRAP cause=2 epc=80 tval=0 model=m dispatch=3 kernel=k hart=1": (
                "FAIL: a trap on hart 1 in command 3 of m, kernel k: cause 2, epc 80, tval 0"
            ),
        }.items():
            text = shown("BM1 MODEL name=m", case(0), record)
            self.assertRegex(text, r"m +PASS")
            self.assertIn(f"\n{sentence}", text)

    def test_an_exit_status_may_contradict_pass(self) -> None:
        text = shown("BM1 MODEL name=m", case(0), "BM1 PASS cases=1", status=1)
        self.assertIn("\nFAIL: the firmware printed PASS, then ended with exit status 1", text)

    def test_a_damaged_record_stays_as_it_is_and_fails_the_run(self) -> None:
        for damaged, why in (
            (
                "BM1 CASE index=0 result=ok",
                "the record 'CASE index=0 result=ok' has no `differing`",
            ),
            ("BM1 garbage", "the record 'garbage' is of no kind that firmware prints"),
        ):
            for raw in (False, True):
                lines = ("BM1 MODEL name=m", damaged, case(1), STATS, "BM1 PASS cases=2")
                text = shown(*lines, raw=raw)
                self.assertIn(f"\n{damaged}\n", text)
                self.assertIn(
                    f"FAIL: {why}: the console lost or changed something", " ".join(text.split())
                )
                if not raw:
                    self.assertRegex(text, r"\nm +PASS +error 1\.5e-05\n")

    def test_a_board_cannot_paint(self) -> None:
        painted = "\x1b[2J\x1b[32mPASS\x1b[0m: 1 case matches\r\x9b1A\u202e"
        record = "BM1 MODEL name=\x1b[8mm"
        fail = "BM1 FAIL cases=1 bad=1 models=\x1b[1A"
        text = shown(painted, record, case(0), STATS, fail)
        self.assertTrue(text.replace("\n", "").isprintable(), text)
        self.assertIn("?[2J?[32mPASS?[0m: 1 case matches??1A?\n", text)
        self.assertIn("FAIL: 1 of 1 cases differ from the framework's output: ?[1A", text)

    def test_raw_lines_stay_as_they_are(self) -> None:
        text = f"[x]\t{'long ' * 30}"
        lines = (BOOT, "BM1 MODEL name=m", case(0), STATS, text, "BM1 PASS cases=1")
        text = shown(*lines[1:], raw=True)
        self.assertEqual(text.splitlines()[:-1], list(lines))
        self.assertIn("\nPASS: 1 case matches the framework's own output", text)

    def test_a_terminal_gets_no_raw_commands(self) -> None:
        command = "\x1b[2J\x1b]0;title\x07"
        self.assertIn(command, shown(command, raw=True))
        self.assertIn("?[2J?]0;title?", shown(command, raw=True, terminal=True))

    def test_colors_are_for_terminals(self) -> None:
        lines = ("BM1 MODEL name=m", case(0), STATS, "BM1 PASS cases=1")
        self.assertIn("\x1b[", shown(*lines, terminal=True))
        self.assertNotIn("\x1b", shown(*lines))


if __name__ == "__main__":
    unittest.main()
