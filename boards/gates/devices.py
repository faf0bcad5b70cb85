"""Devices of the user's beside the CPU: Python files that add them to a system."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from litex.soc.integration.soc_core import SoCCore

from tools.cli import UserError

_FUNCTION = "add_to"


def add_device(soc: SoCCore, name: str, file: Path) -> None:
    """Calls `add_to(soc, name)` of a Python file, which may import others beside it.

    Raises:
      UserError: the file has no such function, or it or the function raised an exception.
    """
    spec = importlib.util.spec_from_file_location(f"_device_{name}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(file.parent))
    try:
        spec.loader.exec_module(module)
        add_to = getattr(module, _FUNCTION, None)
        if not callable(add_to):
            raise UserError(
                f"{file}, of device '{name}', has no function '{_FUNCTION}': define {_FUNCTION}(soc, name), which adds"
                " the device to the system"
            )
        add_to(soc, name)
    except UserError:
        raise
    except Exception as error:
        # LiteX has logged its own errors, and closes stderr so that no more is said.
        sys.stderr = sys.__stderr__
        raise UserError(
            f"{file}, which adds device '{name}', raised {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(str(file.parent))
