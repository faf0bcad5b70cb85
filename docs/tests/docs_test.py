"""Checks the pages: the commands on them could be run, the tutorial is a model that is built and tested, and
what pages say that a run or a report prints is what it prints here."""

from __future__ import annotations

import io
import os
import re
import textwrap
import unittest
from pathlib import Path

from rich.console import Console

from docs.tests import commands
from tools.report import show
from tools.report.files import load
from tools.report.report import Image
from tools.run import judge, result
from tools.run.screen import Screen

ROOT = Path(os.environ["TREE"]).resolve().parent
README = (ROOT / "README.md").read_text()
# Name -> recorded run, or report.
RUNS = dict(pair.split("=") for pair in os.environ["RUNS"].split())
# Element type -> recorded run on rv32imac.
COUNTS = dict(pair.split("=") for pair in os.environ["COUNTS"].split())
# Trained weights depend on the C library, code on compilers, and what else a hart has on QEMU.
UNSTEADY = (
    r"error \d\S+ *|exact *|[\d,]+ instructions|[\d,]+ cycles"
    r"|arena [\d,]+|stack [\d,]+|\d+ of \d+ classified|framework: \d+"
    r"|hart is \w+"
)


def pages() -> dict[str, str]:
    folders = ("", "boards", "docs", "models", "third_party", "tools")
    paths = {path for folder in folders for path in (ROOT / folder).glob("*.md")}
    paths |= {path for folder in folders[1:] for path in (ROOT / folder).glob("*/*.md")}
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(paths)}


def value(number: str) -> float:
    """Returns a number that is written with commas."""
    return float(number.replace(",", ""))


class CommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        # Nothing can depend on a suite of tests that only their own packages see.
        suites = re.findall(
            r'^test_suite\(\n    name = "(\w+)"', (ROOT / "BUILD.bazel").read_text(), re.MULTILINE
        )
        self.targets = {
            *Path(os.environ["TARGETS"]).read_text().split(),
            *("//:" + name for name in suites),
        }

    def faults(self, text: str) -> list[str]:
        return [
            fault
            for command in commands.commands(text)
            for fault in commands.faults(command, ROOT, self.targets)
        ]

    def test_every_command_on_a_page_could_be_run(self) -> None:
        found = {page: self.faults(text) for page, text in pages().items()}
        # Add a new label to docs/tests/BUILD.bazel, where Bazel looks it up.
        self.assertEqual({page: faults for page, faults in found.items() if faults}, {})
        self.assertGreater(sum(len(commands.commands(text)) for text in pages().values()), 100)

    def test_a_page_is_read_as_its_reader_does(self) -> None:
        text = (
            "`tools/bazel test //a/... //c` and `tools/bazel\nrun //a/b -- -y`, //e:f `bmc` `bmc.x`\n\n"
            "    tools/bazel run --board=//x //y  # why\n\n```sh\nbmc inspect net\ncp a b\n```\n"
        )
        self.assertEqual(
            commands.commands(text),
            [
                "bmc inspect net",
                "tools/bazel run --board=//x //y  # why",
                "tools/bazel test //a/... //c",
                "tools/bazel run //a/b -- -y",
            ],
        )

    def test_what_could_not_be_run_is_noticed(self) -> None:
        for command, fault in {
            "tools/bazel run //models:mlp": "//models:mlp is not in docs/tests/BUILD.bazel",
            "tools/bazel fly //models:mlp_rv64": "fly is no command of bazel that pages use",
            "tools/bazel test --x=1 //...": "--x is no option of bazel that pages use",
            "tools/bazel build --board=//boards/gone //...": "there is no //boards/gone",
            "tools/bazel test --config=gone //...": "there is no --config=gone",
            "tools/bazel run @ironcast//tools/flash -- --lost": "main.py has no --lost",
            "tools/bazel test //models:mlp_rv64.flash_test --test_arg=--ports=x": "main.py has no --ports",
            "bmc fly": "bmc has no command fly",
            "bmc compile --fast": "arguments.py has no --fast",
            "python3 -m tools.dev.fresh_machine --suites x": "__main__.py has no --suites",
            "tools/run/decode_status/code.py 1": "there is no tools/run/decode_status/code.py",
        }.items():
            self.assertEqual(self.faults(f"`{command}`"), [fault])


class TutorialTest(unittest.TestCase):
    def files(self) -> list[str]:
        texts = [(ROOT / "models/first" / name).read_text() for name in ("model.py", "BUILD.bazel")]
        # What lets this test see the run; a model of one's own needs no such line.
        return [re.sub(r"^package\(.*\)\n\n", "", text, flags=re.M) for text in texts]

    def test_the_readmes_files_are_those_of_models_first(self) -> None:
        section = README.split("## Five minutes to your own model")[1].split("\n## ")[0]
        shown = re.findall(r"\n\n((?:       .*\n|\n)+)", section)
        texts = [textwrap.dedent(block).strip("\n") + "\n" for block in shown]
        self.assertEqual([text.replace("mine", "first") for text in texts], self.files())

    def test_the_tutorials_files_are_those_of_models_first(self) -> None:
        page = (ROOT / "docs/tutorial/first-model.md").read_text()
        shown = re.findall(r"^```(?:python|starlark) \S+\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual([text.replace("mine", "first") for text in shown], self.files())


class TranscriptTest(unittest.TestCase):
    """A block that begins with ```text NAME shows what NAME of BUILD.bazel printed; `...` leaves lines out."""

    def printed(self, file: str) -> str:
        if file.endswith(".report.sh"):
            # The program that shows it, with the report beside it.
            report = load(Path(file).with_suffix(".json"), Image)
            screen = io.StringIO()
            show.show(report, Console(file=screen, width=1000))
            return "\n".join(line.rstrip() for line in screen.getvalue().splitlines())
        outcome = judge.load(Path(file))
        said = io.StringIO()
        screen = Screen(Console(file=said, width=1000, highlight=False, markup=False))
        for line in outcome.lines:
            screen.line(line)
        expect = "PASS" if any("BM1 BOOT" in line for line in outcome.lines) else "EXIT"
        screen.verdict(result.judge_expected(outcome, expect), expect)
        return said.getvalue()

    def differs(self, shown: str, printed: str) -> bool:
        """Whether two texts differ in more than what is UNSTEADY; `...` stands for any lines."""
        parts = re.sub(UNSTEADY, "", shown).strip("\n").split("\n...\n")
        pattern = r"\n(?:.*\n)*?".join(map(re.escape, parts))
        return not re.fullmatch(pattern, re.sub(UNSTEADY, "", printed).strip("\n"))

    def far(self, shown: str, printed: str) -> bool:
        """Whether two reports differ in more than a tenth of a number, which a small change may make."""
        number = re.compile(r"(?<![\w.])[\d,]+(?:\.\d+)?(?!\w)")
        found = [list(map(value, number.findall(text))) for text in (shown, printed)]
        words = [re.sub(r" +", " ", number.sub("", text)).strip() for text in (shown, printed)]
        return words[0] != words[1] or any(
            abs(a - b) > 50 + a / 10 for a, b in zip(*found, strict=True)
        )

    def test_runs_print_what_the_pages_show(self) -> None:
        seen = set()
        for page, text in pages().items():
            for name, shown in re.findall(r"^```text (\w+)\n(.*?)^```$", text, re.M | re.S):
                if name in RUNS:
                    seen.add(name)
                    printed = self.printed(RUNS[name])
                    differ = self.far if name == "report" else self.differs
                    self.assertFalse(differ(shown, printed), f"{page}: {name}\n{printed}")
                    self.assertTrue(differ(shown + "x\n", printed))
        self.assertEqual(seen, set(RUNS))

    def test_another_number_in_a_report_is_noticed(self) -> None:
        printed = self.printed(RUNS["report"])
        self.assertFalse(self.far(printed, printed))
        self.assertTrue(self.far(re.sub(r"(instructions +)", r"\g<1>9", printed, count=1), printed))
        self.assertTrue(self.far(printed.replace("weights", "weight"), printed))

    def test_sizes_are_about_those_of_the_readmes_table(self) -> None:
        page = (ROOT / "docs/how-to/quantize.md").read_text()
        rows = re.findall(r"^\| `(\w+)`: (flash|arena), bytes \| (\S+) \| (\S+) \|$", page, re.M)
        self.assertGreaterEqual(len(rows), 3)
        for model, what, *numbers in rows:
            for dtype, number in zip(("f32", "int8"), numbers, strict=True):
                row = re.search(rf"\| `{model}` \| \w+ \| {dtype} \|.*", README)
                assert row is not None
                measured = row[0].split(" | ")[{"flash": 5, "arena": 6}[what]]
                self.assertAlmostEqual(value(number) / value(measured), 1, delta=0.1, msg=row[0])

    def test_int8_saves_what_the_page_says(self) -> None:
        counted = {}
        for name, file in COUNTS.items():
            match = re.search(r"([\d,]+) instructions", self.printed(file))
            assert match is not None
            counted[name] = int(value(match[1]))
        page = " ".join((ROOT / "docs/how-to/choose-vlen-and-board.md").read_text().split())
        self.assertIn(
            "more than a million instructions in f32, and less than an eighth of that in int8", page
        )
        self.assertGreater(counted["f32"], 10**6)
        self.assertLess(counted["int8"], counted["f32"] / 8)


if __name__ == "__main__":
    unittest.main()
