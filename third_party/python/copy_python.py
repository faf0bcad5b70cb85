"""Copies the Python that runs this into a folder, once for all output bases of a user: `copy_python.py FOLDER`.

The copy finds its modules relative to itself. Two copies of one Python are the same, byte by byte,
whatever the folder is, so a cache of actions can serve both.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.launcher import store  # noqa: E402

# Of the standard library: what only its own tests and its games use, what others have installed beside it,
# and what links a program with Python.
_LEFT_OUT = (
    "__pycache__",
    "config-*",
    "dist-packages",
    "idlelib",
    "site-packages",
    "test",
    "tests",
    "turtledemo",
)


def copy(folder: Path) -> Path:
    """Writes `bin/python3`, `lib/pythonX.Y` and what they need into `folder`; returns the program."""
    # In a virtual environment, the Python that it was made from.
    program = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    copied = folder / "bin/python3"
    copied.parent.mkdir(parents=True)
    shutil.copy2(program, copied)

    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    ignore = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(sysconfig.get_path("stdlib"), folder / library, ignore=ignore)
    modules = sysconfig.get_config_var("DESTSHARED")
    if not (folder / library / "lib-dynload").exists() and Path(modules).is_dir():
        # Some systems have it below /usr/lib64.
        shutil.copytree(modules, folder / library / "lib-dynload")

    _copy_shared_library(copied)
    # Not by the copy: its files would change while they are in use.
    compiler = [
        sys.executable,
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode=checked-hash",
        library,
    ]
    subprocess.run(compiler, cwd=folder, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)
    return copied


def _copy_shared_library(program: Path) -> None:
    """Copies libpython beside a program that looks for it in the folder of its installation."""
    origin = Path(sys.base_prefix, "lib")
    name = sysconfig.get_config_var("INSTSONAME")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not (origin / name).exists():
        return
    shutil.copy2(origin / name, program.parent.parent / "lib" / name)
    # The program has the folder's name, with a zero byte at its end.
    content, old, new = program.read_bytes(), bytes(origin) + b"\0", b"$ORIGIN/../lib\0"
    if len(new) <= len(old):
        program.write_bytes(content.replace(old, new.ljust(len(old), b"\0")))


def key() -> str:
    """Differs if the copy may: if there is another Python, or something in its library has changed."""
    program = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    library = Path(sys.base_prefix, "lib", sysconfig.get_config_var("INSTSONAME") or "")
    files = [file for file in (program, library) if file.is_file()]
    ignore = shutil.ignore_patterns(*_LEFT_OUT)
    for top in {sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED")}:
        for folder, folders, names in os.walk(top):
            left_out = ignore(folder, [*folders, *names])
            folders[:] = [name for name in folders if name not in left_out]
            files += [Path(folder, name) for name in names if name not in left_out]
    stats = {str(file): (file.lstat().st_size, file.lstat().st_mtime_ns) for file in files}
    return store.key(sys.version, sorted(stats.items()), Path(__file__))


if __name__ == "__main__":
    store.provide("python", key(), copy, Path(sys.argv[1]))
