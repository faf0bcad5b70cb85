"""A session with real firmware: as a program on this machine and in QEMU."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import ironcast
from bmc import artifacts

_HOST = os.environ["HOST"]
_QEMU = os.environ["QEMU"]
_MEMORY = os.environ["MEMORY"]
_ENDLESS = os.environ["ENDLESS"]


def imported(program: str) -> artifacts.ImportedModel:
    session = json.loads(Path(program).with_suffix(".json").read_text())
    return artifacts.load(Path(session["models"][0]["imported"]))


def _is_running(word: str) -> bool:
    """Whether a process has the word in its command line."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in command.read_bytes():
                return True
    return False


class SessionTest(unittest.TestCase):
    def test_it_computes_what_the_framework_does(self) -> None:
        golden = imported(_HOST).golden
        for program in (_HOST, _QEMU):
            with self.subTest(program), ironcast.Session(program) as session:
                (image,), (logits,) = session.get_inputs(), session.get_outputs()
                self.assertEqual((image.name, image.shape), ("image", [1, 64]))
                self.assertEqual((logits.name, logits.type), ("logits", "tensor(float)"))
                for inputs, want in list(zip(golden.inputs, golden.outputs, strict=True))[:5]:
                    (got,) = session.run(["logits"], {"image": inputs[0]})
                    np.testing.assert_allclose(got, want[0], 1e-4, 1e-4)
                self.assertEqual(session.instructions > 0, program == _QEMU)

    def test_what_the_page_shows_works(self) -> None:
        page = Path(os.environ["PAGE"]).read_text()
        code = re.search(
            r"\n\n((?:    .*\n|\n)*    with ironcast.Session(?:    .*\n|.*\n)*?)\n\S", page
        )
        assert code is not None
        script = textwrap.dedent(code[1])
        # What Bazel would have built.
        self.assertIn('"//models:mlp_rv64"', script)
        script = script.replace('"//models:mlp_rv64"', repr(_QEMU))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(script, "python.md", "exec"), {})
        self.assertRegex(said.getvalue(), r"^image \[1, 64\]\n\d \d{4,}\n$")

    def test_state_and_entry_points(self) -> None:
        model = imported(_MEMORY)
        with ironcast.Session(_MEMORY) as session:
            self.assertEqual(session.get_entries(), ["step", "peek"])
            for _ in range(2):  # The second time, only reset() brings back the initial state.
                session.reset()
                for call, inputs, want in zip(
                    model.golden.calls, model.golden.inputs, model.golden.outputs, strict=True
                ):
                    if call.reset:
                        session.reset()
                    entry = model.signatures[call.entry]
                    names = [tensor.name for tensor in session.get_inputs(entry.name)]
                    feed = dict(zip(names, inputs, strict=True))
                    got = session.run(None, feed, entry=entry.name)
                    for one, other in zip(got, want, strict=True):
                        np.testing.assert_allclose(one, other, 1e-5, 1e-5)

    def test_an_interrupt_ends_the_firmware(self) -> None:
        feed = {
            "input0": np.zeros(4, np.float32),  # Their sum never ends the loop.
            "input1": np.array(2**31 - 1, np.int32),
        }
        ran = []

        def interrupt() -> None:
            ran.append(_is_running("while_loop"))
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

        with ironcast.Session(_ENDLESS) as session:
            self.assertEqual(session.run(None, {**feed, "input1": np.array(2, np.int32)})[1], 2)
            threading.Timer(2, interrupt).start()
            began = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                session.run(None, feed)
            # Long before an answer is not waited for any longer.
            self.assertLess(time.monotonic() - began, 60)
            self.assertFalse(_is_running("while_loop"))
            with self.assertRaisesRegex(ironcast.IroncastError, "session is closed"):
                session.run(None, feed)
        self.assertEqual(ran, [True])

    def test_mistakes_are_sentences(self) -> None:
        image = np.zeros((1, 64), np.float32)
        with ironcast.Session(_HOST) as session:
            for names, feed, entry, message in (
                (None, {"picture": image}, "", "given for picture, and the model takes image"),
                (None, {}, "", "given for nothing, and"),
                (
                    None,
                    {"image": image[0]},
                    "",
                    r"float32 \[64\], and the model takes float32 \[1, 64",
                ),
                (None, {"image": image.astype(float)}, "", "image is float64"),
                (["scores"], {"image": image}, "", "no output scores: it has logits"),
                (None, {"image": image}, "other", "no entry point other: it has main"),
            ):
                with (
                    self.subTest(message),
                    self.assertRaisesRegex(ironcast.IroncastError, message),
                ):
                    session.run(names, feed, entry=entry)
            # None of it was sent.
            self.assertEqual(session.run(None, {"image": image})[0].shape, (1, 10))
        with self.assertRaisesRegex(ironcast.IroncastError, "session is closed"):
            session.run(None, {"image": image})

    def test_what_cannot_be_started(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cases: list[tuple[str, dict[str, Any], str]] = [
                (_HOST, {"target": "verilator"}, "give 'host', 'qemu', 'spike' or 'serial:PORT'"),
                (_HOST, {"target": "serial:/none"}, "ended: /none cannot be opened"),
                (folder, {}, "is a folder, and a session needs an image"),
                (f"{folder}/none", {}, "is no program: give a label"),
                ("//models:mlp_rv64", {"checkout": folder}, f"{folder} has none: give the tree"),
                ("//models:mlp_rv64", {}, "there is none around"),
            ]
            for source, options, message in cases:
                with (
                    self.subTest(message),
                    self.assertRaisesRegex(ironcast.IroncastError, message),
                ):
                    ironcast.Session(source, **options)


if __name__ == "__main__":
    unittest.main()
