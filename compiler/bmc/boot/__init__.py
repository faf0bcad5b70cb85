"""`bmc run`: a compiled model becomes an image, boots in QEMU and compares itself with its framework.

The image is a complete export. The program that boots and judges it is that of `bazel run`; it lies beside this file,
where a package was built with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bmc import errors
from bmc.errors import BmcError
from bmc.export import export, qemu_arguments, read_model

_PROGRAM = Path(__file__).with_name("program")
_DEADLINE_SECONDS = 1800


@dataclass(frozen=True)
class Tools:
    """The user's programs.

    Attributes:
      make, compiler: as make's command line takes them.
      qemu: path of the emulator.
      environment: in which make finds what the compiler starts.
    """

    make: str
    compiler: str
    qemu: str
    environment: Mapping[str, str]


def find_tools(xlen: int, environment: Mapping[str, str]) -> Tools:
    """Finds make, a compiler for RISC-V and QEMU.

    Args:
      xlen: bits of a pointer.
      environment: whose PATH has them, or whose IRONCAST_CLANG and IRONCAST_QEMU name them.

    Raises:
      BmcError: one is missing.
    """
    path = environment.get("PATH", os.defpath)

    def find(program: str, named: str = "") -> str:
        return shutil.which(named or program, path=path) or ""

    # The other emulator lies beside the one that the variable names.
    emulator = f"qemu-system-riscv{xlen}"
    named = environment.get("IRONCAST_QEMU", "")
    qemu = find(emulator, str(Path(named).with_name(emulator)) if named else "")
    if not qemu:
        raise _missing(f"QEMU ({emulator})", "qemu-system-misc or qemu-system-riscv")
    make = find("make")
    if not make:
        raise _missing("make", "make")
    gcc, clang = find("riscv64-unknown-elf-gcc"), environment.get("IRONCAST_CLANG", "")
    if not clang and not gcc and find("ld.lld"):
        clang = find("clang")
    if not clang and not gcc:
        raise _missing(
            "a C compiler for RISC-V (riscv64-unknown-elf-gcc, or clang with ld.lld)",
            "gcc-riscv64-unknown-elf",
        )
    # Beside a clang that a variable names is its linker.
    path = os.pathsep.join([str(Path(clang).parent), path]) if clang else path
    return Tools(make, clang or gcc, qemu, {**environment, "PATH": path})


def _missing(what: str, package: str) -> BmcError:
    return BmcError(
        "tool-missing",
        f"bmc run needs {what} on the PATH",
        hint=f"install it (Debian: apt install {package})",
    )


def run(folders: Sequence[Path], *, raw: bool = False) -> int:
    """Boots compiled models, one or more for the same ISA, and shows whether they compute what their frameworks did.

    Args:
      folders: of `bmc compile`.
      raw: whether to show the console as the firmware writes it.

    Returns:
      0 if they do, otherwise 1.

    Raises:
      BmcError: QEMU cannot run them, or a program is missing or failed.
    """
    models = [read_model(folder, ()) for folder in folders]
    isa = models[0].target
    tools = find_tools(isa.xlen, os.environ)
    if not _PROGRAM.is_dir():
        raise BmcError(
            "tool-missing", "this copy of bmc cannot boot images", hint="install the wheel"
        )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        export(models, out, complete=True)
        _make(tools, out)
        image = out / "build" / f"{models[0].name}.elf"
        reports = (model.folder.absolute() / "report.json" for model in models)
        command = [sys.executable, "-P", "-m", "tools.run.live"]
        command += [f"--deadline={_DEADLINE_SECONDS}"]
        command += [f"--report={report}" for report in reports]
        words = (tools.qemu, *qemu_arguments(isa), "-kernel", str(image))
        command += [f"--emulator={word}" for word in words]
        command += ["--raw"] if raw else []
        python_path = os.pathsep.join([str(_PROGRAM), *sys.path])
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": python_path})
    return errors.EXIT_USER_ERROR if done.returncode else 0


def _make(tools: Tools, folder: Path) -> None:
    environment = {
        # No other variable: one may mean something to make.
        name: value
        for name, value in tools.environment.items()
        if name in ("HOME", "LD_LIBRARY_PATH", "PATH")
    }
    done = subprocess.run(
        [tools.make, f"-j{os.cpu_count() or 1}", f"CC={tools.compiler}"],
        cwd=folder,
        # Elsewhere, root may write nothing (bmc.confine).
        env={**environment, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["no message"]
        reason = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise BmcError(
            "image-failed",
            f"{tools.compiler} cannot build the image: {reason.strip()}",
            hint="name another with IRONCAST_CLANG; bmc export --complete writes what it compiles",
        )
