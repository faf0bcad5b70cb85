"""Asks Bazel which models can be measured, and has it measure them: every run is an action, done once."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from tools.cli import UserError, workspace
from tools.report.bench import mca
from tools.report.files import load

T = TypeVar("T")

# Only cores other than the default one are named (tools/rules/private/bm_bench.bzl).
_BENCH = re.compile(r"^(?P<image>//[^:]*:(?P<name>.*))\.bench(?P<vlen>\d+)(\.(?P<core>[\w-]+))?$")
# Of kernels for several harts.
_VLEN = 256
# A large image whose cycles are shown without being asked for.
_LARGE = "bert_tiny"
# An image's name says its board, which users leave out.
_SUFFIX = "_rv64"
# Of a measurement on a CPU design in gates whose ROM is slow; without it, that of a fast one.
_IN_FLASH = ".in_flash.report"


def benches(names: Sequence[str], vlens: Sequence[int], core: str = mca.DEFAULT) -> list[str]:
    """Returns the labels of the measurements of some models.

    Args:
      names: labels of images, or short names, such as "resnet8_int8" or "mlp_rv64"; none: all that
        wildcards build.
      vlens: VLENs in bits.
      core: whose cycles are modeled.

    Raises:
      UserError: there is no such model, core, or VLEN.
    """
    every = 'kind("bm_bench rule", //...)'
    labels = query(every if names else every + ' except attr("tags", "large", //...)')
    every_core = [match for label in labels if (match := _BENCH.match(label))]
    matches = [match for match in every_core if (match["core"] or mca.DEFAULT) == core]
    if every_core and not matches:
        some = ", ".join(sorted({match["core"] or mca.DEFAULT for match in every_core}))
        raise UserError(f"there is no model of a core '{core}'; there are {some}")
    known = [match for match in matches if int(match["vlen"]) in vlens]
    has = sorted({int(match["vlen"]) for match in matches})
    missing = [vlen for vlen in vlens if vlen not in has]
    if missing and matches:
        some = ", ".join(map(str, has))
        raise UserError(
            f"no model has kernels for VLEN {missing[0]} and a core '{core}': use {some}"
        )
    if not names:
        return sorted(match[0] for match in known)
    chosen = []
    for name in names:
        # //models has the short names of labels.
        short = name.rpartition(":")[2]
        found = [m[0] for m in known if m["image"] == name] or [
            m[0] for m in known if short in (m["name"], m["name"].removesuffix(_SUFFIX))
        ]
        if not found:
            some = ", ".join(sorted({m["name"].removesuffix(_SUFFIX) for m in known}))
            raise UserError(f"there is no model '{name}'; there are {some}")
        chosen += sorted(found)
    return chosen


def on_cores(names: Sequence[str]) -> list[str]:
    """Returns the labels of the modeled cycles of some images; names and errors are as in benches().

    Without names, they are those that a baseline holds, as far as they have vectors of 64-bit harts, and `bert_tiny`,
    which is large, and most of whose cycles are products as well.
    """
    found = benches(names or [_LARGE], [_VLEN])
    if not names:
        images = set(held())
        found += [
            label for label in benches([], [_VLEN]) if _BENCH.sub(r"\g<image>", label) in images
        ]
    return sorted({_BENCH.sub(r"\g<image>.cores", label) for label in found})


def on_harts(names: Sequence[str], counts: Sequence[int]) -> list[dict[int, str]]:
    """Returns the labels of the reports of some images, by the number of harts, which 1 is always among.

    Raises:
      UserError: there is no such model, or it has no images for so many harts.
    """
    images = [_BENCH.sub(r"\g<image>", label) for label in benches(names, [_VLEN])]
    known = query("filter('harts[0-9]+.report$', //...)")
    found = []
    for image in images:
        reports = {count: f"{image}.harts{count}.report" for count in counts if count != 1}
        for count, label in reports.items():
            if label not in known:
                has = [
                    each.removeprefix(f"{image}.harts")
                    for each in known
                    if each.startswith(f"{image}.harts")
                ]
                some = ", ".join(["1", *sorted(each.removesuffix(".report") for each in has)])
                raise UserError(f"{image} has no image for {count} harts; it has them for {some}")
        found.append({1: f"{image}.report", **reports})
    return found


def in_gates(names: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the labels of the reports of models on CPU designs in gates: with a fast ROM, and with flash.

    Raises:
      UserError: there is no such model.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for label in query("filter('[.]in_flash[.]report$', kind('bm_report rule', //...))"):
        image = label.removesuffix(_IN_FLASH)
        name = image.rpartition(":")[2].partition(".")[0]
        found.setdefault(name, []).append((f"{image}.report", label))
    for name in names:
        if name not in found:
            some = ", ".join(sorted(found))
            raise UserError(f"there is no model '{name}' in gates; there are {some}")
    return [pair for name in names or sorted(found) for pair in found[name]]


def held() -> list[str]:
    """Returns the labels of the images that a baseline holds and that wildcards test."""
    tests = query('kind("bm_baseline_test rule", //...) except attr("tags", "large", //...)')
    return [test.removesuffix("_baseline_test") for test in tests]


def results(targets: Sequence[str], kind: type[T]) -> dict[str, T]:
    """Builds targets with one JSON file each; returns the files' records, of type `kind`, by label.

    Raises:
      UserError: one of them does not build, or is another name of a target.
    """
    if _bazel("build", "--", *targets, capture=False).returncode:
        raise UserError("not everything could be measured: see above")
    expression = r'"%s %s" % (target.label, target.files.to_list()[0].path)'
    # Tools of a target may need another one that is built for this machine.
    wanted = f"config(set({' '.join(targets)}), target)"
    listed = _bazel("cquery", "--output=starlark", f"--starlark:expr={expression}", wanted)
    found = {}
    root = Path(_bazel("info", "execution_root").stdout.strip())
    for line in listed.stdout.splitlines():
        label, _, path = line.partition(" ")
        found[label.removeprefix("@@").removeprefix("@")] = load(root / path, kind)
    if aliases := [target for target in targets if target not in found]:
        raise UserError(f"{aliases[0]} is another name of a target: use the target's own label")
    return {target: found[target] for target in targets}


def query(expression: str) -> list[str]:
    """Returns the labels that a query of Bazel finds in the workspace, sorted."""
    done = _bazel("query", "--keep_going", expression)
    return sorted(done.stdout.split())


def _bazel(*arguments: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs Bazel in the user's workspace, where `bazel run` has ended by now."""
    own = workspace() / "tools" / "bazel"
    program = str(own) if own.is_file() else "bazel"
    output = subprocess.PIPE if capture else None
    return subprocess.run(
        [program, *arguments], cwd=workspace(), stdout=output, stderr=output, text=True, check=False
    )
