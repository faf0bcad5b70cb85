"""A layer of bmc imports only the layers that its BUILD file names.

usage: imports_test.py FILE...   Runs with only the layer and those below it on the path.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path


def imported(source: str) -> set[str]:
    """Returns the modules of bmc that a file imports anywhere, including in functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            # The name may be a module in the package or a name in the module.
            found.add(node.module)
            found |= {f"{node.module}.{name.name}" for name in node.names if name.name.islower()}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.split(".")[0] == "bmc"}


def is_there(name: str) -> bool:
    """Whether a module exists, or its parent is a module that may contain the name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is not a package, or is missing too
        parent = name.rpartition(".")[0]
        return bool(parent) and is_there(parent)


def main() -> int:
    """Returns 1 if a file imports a module that its layer does not name."""
    assert is_there("bmc.names.printable")
    assert not is_there("bmc.no_such_layer") and not is_there("bmc.no_such_layer.part")
    problems = [
        f"{path}: imports {name}, of a layer that its BUILD file does not name"
        for path in sys.argv[1:]
        for name in sorted(imported(Path(path).read_text(encoding="utf-8")))
        if not is_there(name)
    ]
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
