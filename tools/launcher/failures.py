"""What was wrong in a build: from the events that Bazel writes (build event protocol, as JSON), or its errors."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tools.launcher.cache import write_whole

# What a tool says is shown up to here; the rest is in the file of details.
_MOST_LINES = 12
# Bazel's errors that only say that there was another one.
_NO_REASON = re.compile(
    r"Build did NOT complete|Build failed|Skipping |Analysis of target|Analysis failed|Couldn't start|"
    r"Command failed|errors encountered resolving select|1 input file\(s\)|contains errors$"
)
# What Bazel says, and what a user wants to know of it.
_SHORTER = (
    (re.compile(r"^Error(?: in \w+)?: "), ""),
    (re.compile(r"^.* failed: (?=missing input file )"), ""),
    # A macro's targets are the user's target.
    (re.compile(r"(?<=[\w.-])\._\w+(?=: no such attribute)"), ""),
    (
        re.compile(
            r"no such target '(?P<label>[^']+)': target '[^']+' not declared in package '[^']*' defined by \S+"
        ),
        r"there is no target \g<label>",
    ),
    # A board of another processor is none for the select() on it.
    (
        re.compile(
            r"^(?:\S+:\d+: )?in flag_values attribute of config_setting rule \S*//tools/rules:board_has_[\s\S]*"
        ),
        "the board of --board has another processor than this target: name a target of its word size, such as"
        " X_rv32 for a board of rv32",
    ),
    (
        re.compile(
            r"Target (?P<target>\S+) is incompatible and cannot be built[\s\S]*?\n\s+(?P<part>\S+) \(\w+\) +<-- target"
            r" platform \(@*(?P<platform>\S+)\) didn't satisfy constraints? @*(?P<constraint>[^\n]*)[\s\S]*"
        ),
        r"\g<target> is built for \g<platform>, and \g<part> is only for \g<constraint>: give both the same platform"
        " (target_compatible_with)",
    ),
    # Bazel writes two @ before the name of another repository, which nobody types.
    (
        re.compile(r"no such package '@@?(?P<label>[^']+)': BUILD file not found[\s\S]*"),
        r"there is no package @\g<label>: no such folder of that repository has a BUILD.bazel",
    ),
    (
        re.compile(r"no such package '(?P<label>[^']+)': BUILD file not found[\s\S]*"),
        r"there is no package //\g<label>: no such folder has a BUILD.bazel",
    ),
)
_INCOMPATIBLE = "is incompatible and cannot be built"
_PLACE = re.compile(r"(?P<file>/\S+?):(?P<line>\d+):\d+: ")
_FIRST_CALL = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_COLORS = re.compile(r"\x1b\[[\d;]*[mK]")
_ONE_OF = re.compile(r'"(?P<wrong>[^"]+)" is unknown: use one of (?P<names>.*)')
_NO_FILE = re.compile(r"missing input file '//(?P<folder>[^:']*):(?P<name>[^']+)'")
_NO_FOLDER = re.compile(r"there is no package //(?P<name>[^:]+):")


@dataclass(frozen=True)
class Failure:
    """One thing that was wrong.

    Attributes:
      sentence: for the user; several lines where a tool says several.
      details: all that Bazel and the tool said.
      action: the action that failed and its target, or "".
    """

    sentence: str
    details: str
    action: str = ""


@dataclass(frozen=True)
class Finished:
    """How a build ended.

    Attributes:
      status: Bazel's name for it, such as "SUCCESS" or "TESTS_FAILED"; "" if it never came to an end.
      message: why, if Bazel says so here.
    """

    status: str
    message: str


def in_events(events: Path, root: Path) -> list[Failure]:
    """The failed actions or else the rules' own complaints, each once, in their order.

    events: the file that --build_event_json_file names. root: the workspace.
    """
    actions: dict[str, Failure] = {}
    rules: dict[str, Failure] = {}
    for event in _read(events):
        if (action := _action(event)) is not None:
            actions.setdefault(action.sentence, action)
        if (rule := _rule(event, root)) is not None:
            rules.setdefault(rule.sentence, rule)
    return list((actions or rules).values())


def in_output(said: str, root: Path) -> list[Failure]:
    """The reason among Bazel's errors. Those behind it follow from it, but one may have a name that is meant."""
    sentences: list[str] = []
    for error in re.split(r"^ERROR: ", said, flags=re.MULTILINE)[1:]:
        text, *rest = error.split("\n")
        # A traceback ends in the only line that is not indented.
        if reason := [line for line in rest if line.startswith("Error")]:
            call = _FIRST_CALL.search(error)
            place = f"{_relative(call['file'], root)}:{call['line']}: " if call else ""
            text = place + re.sub(r"^Error(?: in \w+)?: ", "", reason[-1])
        if _INCOMPATIBLE in text:
            text = error
        if not _NO_REASON.search(text):
            sentences.append(_sentence(text, root))
    return [
        Failure(best, said)
        for best in [s for s in sentences if "did you mean" in s][:1] or sentences[:1]
    ]


def runnable(name: str, names: Sequence[str]) -> list[str]:
    """Which of a package's programs are meant by `name`: at most three."""
    plain = [n for n in names if "." not in n]
    return (
        sorted((n for n in plain if n.startswith(name)), key=len)
        or difflib.get_close_matches(name, plain, 3)
    )[:3]


def finished(events: Path) -> Finished:
    """How the build ended: a program that it started may have failed later."""
    for event in _read(events):
        if (end := event.get("finished")) is not None:
            message = end.get("failureDetail", {}).get("message", "")
            return Finished(end.get("exitCode", {}).get("name", ""), message)
    return Finished("", "")


def of_message(message: str, root: Path) -> list[Failure]:
    """The failure that the end of a build names, if it is more than a hint at another one."""
    if not message or _NO_REASON.search(message):
        return []
    return [Failure(_sentence(message, root), message)]


def report(failures: Sequence[Failure], details: Path) -> str:
    """What a terminal shows last: where all is, and the sentences. Writes `details`."""
    text = "\n\n".join(failure.details for failure in failures) + "\n"
    write_whole(details, text.encode(errors="replace"))
    actions = [failure.action for failure in failures if failure.action]
    failed = f"{', '.join(actions)} failed. " if actions else ""
    return "\n".join([f"({failed}All that Bazel says: {details})", *(f.sentence for f in failures)])


def _read(events: Path) -> Iterator[dict[str, Any]]:
    """The events; the last one is cut if Bazel was killed."""
    try:
        lines = events.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if '"action":' in line or '"aborted":' in line or '"finished":' in line:
            try:
                yield json.loads(line)
            except ValueError:
                return


def _action(event: dict[str, Any]) -> Failure | None:
    action = event.get("action", {})
    if not action.get("exitCode"):
        return None
    message = action.get("failureDetail", {}).get("message", "")
    said = "".join(_text_of(action.get(stream, {})) for stream in ("stdout", "stderr")).strip()
    name = f"{action.get('type')} of {action.get('label')}"
    details = f"{name}: {message}\n{said}"
    lines = said.splitlines() or [f"{name} ended with status {action['exitCode']}."]
    if len(lines) > _MOST_LINES:
        lines = ["…", *lines[-_MOST_LINES:]]
    return Failure("\n".join(lines), details, name)


def _rule(event: dict[str, Any], root: Path) -> Failure | None:
    """A rule's own complaint. A target that only depends on the one at fault has no description."""
    said = event.get("aborted", {}).get("description", "")
    if event.get("aborted", {}).get("reason") != "ANALYSIS_FAILURE" or _NO_REASON.search(said):
        return None
    reason = said.rpartition("Error in fail: ")[2].strip()
    if reason == said.strip() and "Traceback" in said:
        reason = said.strip().splitlines()[-1]
    return Failure(_sentence(reason, root), said) if reason else None


def plain(text: str) -> str:
    """The text without a terminal's colors."""
    return _COLORS.sub("", text)


def _text_of(stream: dict[str, Any]) -> str:
    try:
        return Path(unquote(urlparse(stream.get("uri", "")).path)).read_text(errors="replace")
    except OSError:
        return ""


def _sentence(text: str, root: Path) -> str:
    """An error of Bazel's, without what only its developers need, and with the name that may be meant."""
    text = _PLACE.sub(lambda m: f"{_relative(m['file'], root)}:{m['line']}: ", text.strip())
    for pattern, shorter in _SHORTER:
        text = pattern.sub(shorter, text)
    near: list[str] = []
    if match := _ONE_OF.search(text):
        near = difflib.get_close_matches(match["wrong"], match["names"].split(", "), 1)
    elif match := _NO_FILE.search(text):
        near = _near(match["name"], root / match["folder"])
    elif match := _NO_FOLDER.search(text):
        # The first part that is not there is the one that is misspelt.
        parts = match["name"].split("/")
        for number, part in enumerate(parts):
            folder = root.joinpath(*parts[:number])
            if not (folder / part).is_dir():
                near = ["//" + "/".join([*parts[:number], n]) for n in _near(part, folder)]
                break
    return f"{text} (did you mean {near[0]}?)" if near else text


def _near(name: str, folder: Path) -> list[str]:
    try:
        return difflib.get_close_matches(name, [path.name for path in folder.iterdir()], 1)
    except OSError:
        return []


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file
