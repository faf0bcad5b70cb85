"""The commands on a page, and what can be said about them without running them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

# What a user would type for a model or board of their own; //bands is in examples/consumer.
_OWN = re.compile(r"//((models|boards)/mine|boards/sensor_node|bands)\b")
_FENCED = re.compile(r"^(```+).*?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4,}(\S.*)$", re.MULTILINE)
_INLINE = re.compile(r"`([^`]+)`")
# Programs of this project. Of others, such as pip, cp and sudo, nothing is checked.
_OURS = re.compile(r"(tools/bazel|bmc|python3 -m tools(?:\.\w+)+|tools(?:/\w+)+\.py) ")
_FLAG = re.compile(r"--[a-z][a-z-]*")
# Options of `bazel` that mean something here, beside `--board` and `--config`.
_BAZEL = {"--expunge", "--profile", "--repo_env", "--test_arg", "--verbose_failures"}
_BMC = "compiler/bmc/arguments.py"
# Target -> source of the program that gets what is behind `--`.
_PROGRAMS = {
    r".*\.(flash|flash_test)|//tools/flash:flash": "tools/flash/main.py",
    r".*\.(debug|bisect)": "tools/run/debug/debug.py",
    r".*\.validate": "tools/service/validate/validate.py",
    r".*\.demo": "tools/service/demo/demo.py",
    r".*\.view": "tools/report/view/view.py",
    r"//models:overview": "tools/report/view/overview.py",
    r"//models:(table|large_table)": "tools/report/model_table.py",
    r"//compiler:compiler": _BMC,
    r"//boards:new": "boards/new.py",
    r"//tools/actions/remote:worker": "tools/actions/remote/worker.py",
    r"//models/world:measure": "models/world/measure.py",
    r"//tools/campaigns/suites:suites": "tools/campaigns/suites/suites.py",
    r"//tools/campaigns/spread:spread": "tools/campaigns/spread/spread.py",
    r"//tools/campaigns/mutants:mutants": "tools/campaigns/mutants/mutants.py",
    r"//tools/campaigns/(?!mutants|suites|spread)\w+:\w+": "tools/campaigns/campaign.py",
}


def commands(text: str) -> list[str]:
    """Returns the commands of this project's programs in the code of a page."""
    blocks = [match[2] for match in _FENCED.finditer(text)]
    text = _FENCED.sub("", text)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += _INDENTED.findall(text)
    lines += [" ".join(span.split()) for span in _INLINE.findall(_INDENTED.sub("", text))]
    parts = [part.strip() for line in lines for part in line.split(" && ")]
    return [part for part in parts if _OURS.match(part)]


def faults(command: str, tree: Path, targets: set[str]) -> list[str]:
    """Returns what is wrong with a command.

    Args:
      command: one line.
      tree: the source tree, whose programs say which options they have.
      targets: the labels that exist; those with `...` are not looked up.
    """
    words = shlex.split(command, comments=True)
    if words[0] == "tools/bazel":
        return _bazel(words[1:], tree, targets)
    if words[0] == "bmc":
        return _bmc(words[1:], tree)
    if words[0] == "python3":
        return _options(words[3:], tree / words[2].replace(".", "/") / "__main__.py")
    return [] if (tree / words[0]).is_file() else [f"there is no {words[0]}"]


def _bazel(words: list[str], tree: Path, targets: set[str]) -> list[str]:
    if words[0] not in ("build", "clean", "doctor", "run", "test"):
        return [f"{words[0]} is no command of bazel that pages use"]
    at = words.index("--") if "--" in words else len(words)
    found = []
    labels = [
        word.removeprefix("@ironcast")
        for word in words[1:at]
        if "//" in word and not word.startswith("-")
    ]
    for word in words[1:at]:
        option, _, value = word.partition("=")
        if option == "--config":
            if f":{value} " not in (tree / ".bazelrc").read_text():
                found.append(f"there is no --config={value}")
        elif option == "--board":
            board = value.removeprefix("@ironcast")
            if not _OWN.match(board) and not (tree / board.removeprefix("//")).is_dir():
                found.append(f"there is no {board}")
        elif option.startswith("-") and option not in _BAZEL:
            found.append(f"{option} is no option of bazel that pages use")
    for label in labels:
        if "..." in label or _OWN.match(label) or "<" in label:
            continue
        whole = label if ":" in label else f"{label}:{Path(label).name}"
        if whole not in targets:
            found.append(f"{whole} is not in docs/tests/BUILD.bazel")
        for pattern, program in _PROGRAMS.items():
            if re.fullmatch(pattern, whole):
                passed = [w.partition("=")[2] for w in words if w.startswith("--test_arg=")]
                found += _options(words[at + 1 :] + passed, tree / program)
    return found


def _bmc(words: list[str], tree: Path) -> list[str]:
    known = re.findall(r'add_parser\(\s*"(\w+)"', _text(tree / _BMC))
    if not words[0].startswith("-") and words[0] not in known:
        return [f"bmc has no command {words[0]}"]
    return _options(words, tree / _BMC)


def _text(source: Path) -> str:
    """Returns a program's source; arguments of bmc are in two files."""
    more = [source.parent / "frontends/importing.py"] if source.match(_BMC) else []
    return "".join(path.read_text() for path in (source, *more) if path.is_file())


def _options(words: list[str], source: Path) -> list[str]:
    """Returns the options among `words` that a program's source does not declare."""
    text = _text(source)
    options = {match[0] for word in words if (match := _FLAG.match(word))} - {"--help"}
    return [f"{source.name} has no {one}" for one in sorted(options) if f'"{one}"' not in text]
