"""Silences frameworks, so that the user sees only bmc's own sentence."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator

# PyTorch and torchao warn of each other's versions, and of libraries in torchao that are for other machines.
_ADVISERS = ("torch.utils._pytree", "torchao")


@contextlib.contextmanager
def native() -> Iterator[None]:
    """Discards what C++ libraries write to the process's stdout and stderr. Python can still write.

    Discards nothing with --verbose.
    """
    if logging.getLogger().isEnabledFor(logging.DEBUG):
        yield
        return
    with contextlib.ExitStack() as stack:
        for name, number in (("stdout", 1), ("stderr", 2)):
            saved = os.dup(number)
            stack.callback(os.close, saved)
            if getattr(sys, name) is getattr(sys, f"__{name}__"):
                stream = stack.enter_context(os.fdopen(os.dup(saved), "w", buffering=1))
                redirect = contextlib.redirect_stdout if number == 1 else contextlib.redirect_stderr
                stack.enter_context(redirect(stream))
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), number)
            stack.callback(os.dup2, saved, number)
        yield


@contextlib.contextmanager
def advice() -> Iterator[None]:
    """Discards what packages log about each other when they are imported, also by a user's file.

    Discards nothing with --verbose.
    """
    verbose = logging.getLogger().isEnabledFor(logging.DEBUG)
    loggers = [] if verbose else [logging.getLogger(name) for name in _ADVISERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Collects what C++ libraries write to the process's stderr; complete when the block has ended."""
    messages = io.StringIO()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield messages
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            messages.write(file.read().decode(errors="replace"))


@contextlib.contextmanager
def python() -> Iterator[None]:
    """Discards what Python code prints, logs and warns about."""
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
