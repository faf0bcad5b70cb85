"""Checks the pages: the commands on them exist, the tutorial is a model that is built and tested, and
the README shows what the first command prints here."""

from __future__ import annotations

import json
import os
import re
import textwrap
import unittest
from pathlib import Path

ROOT = Path(os.environ["TREE"]).resolve().parent
README = (ROOT / "README.md").read_text()
# Not the value of an option.
LABEL = re.compile(r"tools/bazel [^`\n]*?(?<!=)(//[\w./]*(?::[\w.]*\w)?)")
# What a user would type for a model or board of their own; //bands is in examples/consumer.
OWN = re.compile(r"//((models|boards)/mine|bands)\b")


def labels(text: str) -> set[str]:
    """Labels in the tools/bazel commands on a page; patterns (`//...`) do not count."""
    found = {
        label
        for label in LABEL.findall(text)
        if "..." not in label and label[-1] != "/" and not OWN.match(label)
    }
    return {label if ":" in label else f"{label}:{Path(label).name}" for label in found}


def pages() -> dict[str, str]:
    folders = ("", "boards", "docs", "models", "third_party", "tools")
    paths = {path for folder in folders for path in (ROOT / folder).glob("*.md")}
    paths |= {path for folder in folders[1:] for path in (ROOT / folder).glob("*/*.md")}
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(paths)}


class CommandsTest(unittest.TestCase):
    def test_every_label_on_a_page_is_a_target(self) -> None:
        targets = set(Path(os.environ["TARGETS"]).read_text().split())
        unknown = {
            (page, label) for page, text in pages().items() for label in labels(text) - targets
        }
        # Add a new label to docs/tests/BUILD.bazel, where Bazel looks it up.
        self.assertEqual(unknown, set())

    def test_a_page_is_read_as_its_reader_does(self) -> None:
        text = (
            "`tools/bazel test --x=1 //a/b/... //c` `tools/bazel run --board=//x //a/b -- -y`, //e:f "
            "`tools/bazel run //c:d.e.`"
        )
        self.assertEqual(labels(text), {"//a/b:b", "//c:d.e"})


class TutorialTest(unittest.TestCase):
    def test_the_tutorials_files_are_those_of_models_first(self) -> None:
        section = README.split("## Five minutes to your own model")[1].split("\n## ")[0]
        blocks = re.findall(r"\n\n((?:       .*\n|\n)+)", section)
        shown = [textwrap.dedent(block).strip("\n") + "\n" for block in blocks]
        files = [(ROOT / "models/first" / name).read_text() for name in ("model.py", "BUILD.bazel")]
        self.assertEqual([text.replace("mine", "first") for text in shown], files)


class TranscriptTest(unittest.TestCase):
    def test_the_first_command_prints_what_the_readme_shows(self) -> None:
        block = re.search(r"and prints\n\n((?:    .*\n|\n)+)", README)
        assert block is not None
        shown = textwrap.dedent(block[1]).split("\n\n")[0]
        recorded = "\n".join(json.loads(Path(os.environ["BERT"]).read_text())["lines"])
        # The last bits of PyTorch's answer depend on the C library.
        last_bits = re.compile(r"max_abs=1\.\d+e-07 differing=\d+")
        self.assertEqual(last_bits.sub("", shown), last_bits.sub("", recorded))


if __name__ == "__main__":
    unittest.main()
