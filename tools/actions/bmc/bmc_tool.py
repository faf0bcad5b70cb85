"""bmc without frameworks: the program that rules run."""

from __future__ import annotations

import sys

from bmc import arithmetic

# Before NumPy is loaded, which reads the environment.
arithmetic.enter()

# So that requests find them loaded. IREE loads the classes of these dialects when it meets an operation of theirs.
from iree import runtime  # noqa: E402, F401
from iree.compiler.dialects import (  # noqa: E402, F401
    builtin,
    flow,
    hal,
    iree_codegen,
    iree_tensor_ext,
    stream,
    util,
    vm,
)

from bmc import cli, compile  # noqa: E402, F401
from bmc.__main__ import main  # noqa: E402
from tools.actions.persistent_worker import persistent_worker  # noqa: E402


def _main(args: list[str]) -> int:
    sys.argv[1:] = args
    return main()


if __name__ == "__main__":
    sys.exit(persistent_worker.run(_main, sys.argv[1:]))
