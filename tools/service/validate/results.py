"""What the target answered to all calls, beside what is expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from bmc.artifacts import Signature
from bmc.dtype import Array
from tools.cli import UserError
from tools.service.service import Run
from tools.service.validate import measures, page
from tools.service.validate.job import Case, Job
from tools.service.validate.measures import Output

_KEPT = 10
_NAMED = 5


def report(job: Job, runs: Sequence[Run], worst: Path | None, out: Console) -> int:
    """Prints how far the answers are from what is expected.

    Args:
      runs: of the first calls of the job.
      worst: file for those with the largest errors.

    Returns:
      The exit status: 1 if one of them is outside of the model's tolerance.

    Raises:
      UserError: `worst` cannot be written.
    """
    got = [_arrays(run, job.signature(index)) for index, run in enumerate(runs)]
    groups = {
        number: [index for index in range(len(runs)) if job.calls[index].entry == number]
        for number in sorted({call.entry for call in job.calls[: len(runs)]})
    }
    found = [
        output
        for number, indices in groups.items()
        for output in _outputs(job, number, indices, got)
    ]
    out.print(page.outputs(found))
    for output in found:
        if output.steps:
            out.print(page.steps(output))
    if len(groups) == 1:
        labels = None if job.labels is None else job.labels[: len(got)]
        firsts = [answer[0] for answer in got], [want[0] for want in job.want[: len(got)]]
        named = measures.classes(*firsts, labels)
        if named is not None:
            out.print(*page.classes(named, job.unit), sep="\n")
            if named.confusion is not None:
                out.print(page.confusion(named.confusion))
    sizes = {
        index: size
        for indices in groups.values()
        for index, size in zip(
            indices,
            measures.sizes([got[i] for i in indices], [job.want[i] for i in indices]),
            strict=True,
        )
    }
    order = sorted(sizes, key=lambda index: -sizes[index])
    if worst:
        _save(
            worst,
            job,
            got,
            {n: [i for i in order[:_KEPT] if i in own] for n, own in groups.items()},
        )
        out.print(f"wrote the {job.unit} with the largest errors to {worst}")
    instret = [run.instret for run in runs if run.instret]
    if instret:
        out.print(f"instructions of a run: {min(instret):,} to {max(instret):,}")
    if len(runs) < len(job.inputs):
        out.print(f"stopped after {len(runs)} of {len(job.inputs)} {job.unit}")
    bad = {index for output in found for index in output.misses}
    if bad:
        shown = [index for index in order if index in bad][:_NAMED]
        out.print(
            f"{len(bad)} of {len(runs)} {job.unit} are outside of the model's tolerance; the worst are"
            f" {', '.join(map(str, shown))}"
        )
        return 1
    out.print(f"all {len(runs)} {job.unit} are within the model's tolerance")
    return 0


def _arrays(run: Run, signature: Signature) -> Case:
    return tuple(
        np.frombuffer(data, info.dtype.numpy).reshape(info.shape)
        for data, info in zip(run.outputs, signature.outputs, strict=True)
    )


def _outputs(job: Job, number: int, indices: Sequence[int], got: Sequence[Case]) -> list[Output]:
    """Measures the outputs of an entry point over its calls."""
    signatures = job.model.signatures
    begin = sum(len(signature.outputs) for signature in signatures[:number])
    found = []
    for place, info in enumerate(signatures[number].outputs):
        name = f"{signatures[number].name}.{info.name}" if len(signatures) > 1 else info.name
        output = measures.output(
            name,
            [got[index][place] for index in indices],
            [job.want[index][place] for index in indices],
            job.model.golden.policies[begin + place],
            job.model.int8,
        )
        misses = tuple(indices[miss] for miss in output.misses)
        found.append(dataclasses.replace(output, misses=misses))
    return found


def _save(path: Path, job: Job, got: Sequence[Case], chosen: dict[int, list[int]]) -> None:
    """Saves calls with inputs and both sides' outputs, by names as in the user's file."""
    arrays: dict[str, Array] = {}
    for number, order in chosen.items():
        signature = job.model.signatures[number]
        begin = f"{signature.name}." if len(chosen) > 1 else ""
        if not order:
            continue
        arrays[f"{begin}index"] = np.array(order)
        for place, info in enumerate(signature.inputs):
            arrays[begin + info.name] = np.stack([job.inputs[i][place] for i in order])
        for place, info in enumerate(signature.outputs):
            arrays[f"{begin}target_{info.name}"] = np.stack([got[i][place] for i in order])
            arrays[f"{begin}expected_{info.name}"] = np.stack([job.want[i][place] for i in order])
    try:
        np.savez(path, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
