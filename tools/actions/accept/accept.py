"""Runs the runtime's own checks on a compiled model, on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools import cli
from tools.actions.accept import plan_object
from tools.actions.persistent_worker import persistent_worker
from tools.cli import UserError
from tools.run.decode_status import decode


class RefusedError(UserError):
    """The target would refuse the model."""


def ask(program: Path, plan: bytes, kernels: Path, report: dict[str, Any]) -> tuple[int, int]:
    """Checks a model.

    Args:
      program: tools/actions/accept/accept.c.
      plan: what plan_object.read returned.
      kernels: the kernels' ELF.
      report: the compiler's report of the model.

    Returns:
      The status word, 0 for a model that fits, and the number of the command it concerns, -1 for none.

    Raises:
      RefusedError: the program died.
    """
    command = [str(program.absolute())]
    # How an executable describes itself depends on the pointer size: for 32 bits, bmc checks it.
    if report["flash"]["kernels_elf_bytes"] and not report["isa"].startswith("rv32"):
        command += [str(kernels), str(report["kernels_library"])]
    done = subprocess.run(command, input=plan, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace")
        raise RefusedError(f"the check itself ended with status {done.returncode}: {said}")
    status, index = done.stdout.split()
    return int(status, 16), int(index)


def refusal(status: int, index: int, report: dict[str, Any], root: Path) -> str:
    """Returns why the target would refuse the model, in a sentence.

    Args:
      status: a nonzero status word.
      index: of the command it concerns, -1 for none.
      report: the compiler's report of the model.
      root: folder with the runtime's sources.
    """
    what = "its plan or kernels"
    if index >= 0:
        command = report["commands"][index]
        kind = command["function"] or f"a {command['kind']} of {command['bytes']} bytes"
        what = f"command {index} of its plan ({kind})"
    reason = " ".join(decode.describe(status, root).split())
    return f"on {report['isa']} the runtime would refuse {what} when it starts: {reason}"


@cli.program("accept", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--model", required=True, help="for the message")
    parser.add_argument("--plan", required=True, help="for the message")
    parser.add_argument("--plan-object", type=Path, required=True, help="the plan, compiled")
    parser.add_argument("--name", required=True, help="prefix of the model's C symbols")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--kernels", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="stamp file to write on success")
    options = parser.parse_args(args)
    report = json.loads(options.report.read_text())
    root = Path(__file__).absolute().parents[3]
    try:
        plan = plan_object.read(options.plan_object, options.name)
        status, index = ask(options.program, plan, options.kernels, report)
        if status:
            raise RefusedError(refusal(status, index, report, root))
    except RefusedError as error:
        print(
            f"{options.model}: {error}\n  hint: this is a bug in bmc: report it with {options.plan}",
            file=sys.stderr,
        )
        return 1
    except UserError as error:
        print(f"{options.model}: {error}", file=sys.stderr)
        return 1
    options.out.touch()
    return 0


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
