"""Real firmware: as a program on this machine, in QEMU, and behind a serial port that loses bytes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import tempfile
import time
import tty
import unittest
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bmc import artifacts
from tools.run import process
from tools.service import sessions
from tools.service.frames import Frame, Reader, encode
from tools.service.links import ProgramLink
from tools.service.service import Service, ServiceError, Sizes
from tools.service.validate import validate

_HOST = Path(os.environ["HOST"])
_QEMU = Path(os.environ["QEMU"])
_DAMAGED = Path(os.environ["DAMAGED"])
_DAMAGED_INT8 = Path(os.environ["DAMAGED_INT8"])
_MEMORY = Path(os.environ["MEMORY"])
_SESSION = json.loads(_HOST.with_suffix(".json").read_text())


def _imported(program: Path) -> artifacts.ImportedModel:
    session = json.loads(program.with_suffix(".json").read_text())
    return artifacts.load(Path(session["models"][0]["imported"]))


_MODEL = _imported(_HOST)
_CASES = np.stack([case[0] for case in _MODEL.golden.inputs])
_WANT = np.stack([case[0] for case in _MODEL.golden.outputs])
_SECONDS = 60.0


class Lossy:
    """A line that loses, changes and repeats bytes in both directions, on a fixed pattern."""

    def __init__(self, link: ProgramLink) -> None:
        self._link = link
        self._random = random.Random(1)
        self.damaged = 0

    def _through(self, data: bytes) -> bytes:
        if self._random.random() > 0.2 or not data:
            return data
        self.damaged += 1
        at = self._random.randrange(len(data))
        return self._random.choice(
            (
                data[:at] + data[at + 1 :],
                data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :],
                data[:at],
                data + data,
            )
        )

    def read(self, seconds: float) -> bytes:
        return self._through(self._link.read(seconds))

    def write(self, data: bytes) -> None:
        self._link.write(self._through(data))


class Shortening:
    """A line from a target whose answers of one kind have nothing behind the status."""

    def __init__(self, link: ProgramLink, kind: int) -> None:
        self._link = link
        self._kind = kind
        self._reader = Reader()

    def read(self, seconds: float) -> bytes:
        frames = self._reader.take(self._link.read(seconds))
        return b"".join(
            encode(Frame(f.kind, f.number, f.payload[:4]) if f.kind == self._kind else f)
            for f in frames
        )

    def write(self, data: bytes) -> None:
        self._link.write(data)


def _open(service: Service) -> None:
    sessions.open_model(service, 0, "fixture", _MODEL.signatures)


def _number(word: int) -> str:
    return f"{word:08x}"


@contextlib.contextmanager
def _program() -> Iterator[ProgramLink]:
    with contextlib.closing(ProgramLink(_SESSION["run"], ())) as link:
        yield link


class ServiceTest(unittest.TestCase):
    def check(self, service: Service, count: int) -> None:
        _open(service)
        for case, want in list(zip(_CASES, _WANT, strict=True))[:count]:
            (data,) = service.run([case.tobytes()]).outputs
            np.testing.assert_allclose(np.frombuffer(data, np.float32), want[0], 1e-4, 1e-4)

    def test_lossy_line(self) -> None:
        with _program() as link:
            line = Lossy(link)
            self.check(Service(line, _SECONDS, _number), 3)
        self.assertGreater(line.damaged, 3)

    def test_begins_anew_after_half_a_request(self) -> None:
        with _program() as link:
            service = Service(link, _SECONDS, _number)
            self.check(service, 1)
            # What a client that was ended in the middle of a request leaves behind.
            link.write(b"\xb5\x4d\x02\x09\x00\x04half")
            service = Service(link, _SECONDS, _number)
            service.greet(_SECONDS)
            self.check(service, 1)

    def test_refusals(self) -> None:
        with _program() as link:
            service = Service(link, _SECONDS, _number)
            with self.assertRaisesRegex(ServiceError, "refused a request: 0c...003"):
                service.open(1, "fixture", {})
            _open(service)
            with self.assertRaisesRegex(ServiceError, "refused a request: 0c...00b"):
                service.run([bytes(257)])

    def test_another_build_on_the_target(self) -> None:
        entry = _MODEL.signatures[0].name
        with _program() as link:
            service = Service(link, _SECONDS, _number)
            for sizes in (Sizes((256,), (80,)), Sizes((256, 4), (40,)), Sizes((), (40,))):
                with self.assertRaisesRegex(
                    ServiceError,
                    rf"{entry} has 256 bytes of inputs and 40 of outputs on the target, and here {sizes}: .*"
                    "flash the service firmware again",
                ):
                    service.open(0, "fixture", {entry: sizes})
            with self.assertRaisesRegex(
                ServiceError, "the target runs the model fixture, not other"
            ):
                service.open(0, "other", {entry: Sizes((256,), (40,))})

    def test_answers_that_are_too_short(self) -> None:
        for kind, message in (
            (1, "the target runs the model , not fixture"),
            (4, "sent 0 bytes where 40 were asked for: it runs other firmware"),
        ):
            with _program() as link, self.assertRaisesRegex(ServiceError, message):
                service = Service(Shortening(link, kind), _SECONDS, _number)
                _open(service)
                service.run([_CASES[0].tobytes()])

    def test_silence_and_an_end(self) -> None:
        trap = "echo BM1 TRAP cause=2 epc=80000000; exec sleep 1000"
        for argv, seconds, message in (
            (["/bin/sleep", "1000"], 0.1, "did not answer"),
            (["/bin/false"], _SECONDS, "ended: exit status 1"),
            (["/bin/sh", "-c", trap], _SECONDS, "stopped: TRAP cause=2"),
        ):
            with (
                self.subTest(message),
                contextlib.closing(ProgramLink(argv, ())) as link,
                self.assertRaisesRegex(ServiceError, message),
            ):
                _open(Service(link, seconds, _number))

    def test_serial_port(self) -> None:
        board, port = pty.openpty()
        tty.setraw(port)
        name = os.ttyname(port)
        program = process.start(_SESSION["run"], stdin=board, stdout=board)
        try:
            with sessions.service(_SESSION, name, 115200) as service:
                self.check(service, 3)
        finally:
            process.end(program)
            os.close(board)
            os.close(port)

    def test_a_silent_port_is_said_long_before_a_run_would_be_too_long(self) -> None:
        board, port = pty.openpty()
        tty.setraw(port)
        message = r"did not answer for 0.2 s: check that it .* \(`.service.flash`\).* the port .* baud rate"
        began = time.monotonic()
        try:
            with (
                self.assertRaisesRegex(ServiceError, message),
                sessions.service({**_SESSION, "deadline": 600}, os.ttyname(port), 115200, 0.2),
            ):
                self.fail("nothing is there")
        finally:
            os.close(board)
            os.close(port)
        self.assertLess(time.monotonic() - began, 30)


class ProgramTest(unittest.TestCase):
    """What the user types."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.data = self.save("data", image=_CASES[:12], labels=np.argmax(_WANT[:12, 0], 1))
        self.want = self.save("want", logits=_WANT[:12])

    def save(self, name: str, **arrays: object) -> Path:
        path = self.folder / f"{name}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    def run_it(self, program: Path, *args: object) -> tuple[int, str]:
        done = subprocess.run(
            [str(program.absolute()), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "BUILD_WORKING_DIRECTORY": str(self.folder)},
        )
        return done.returncode, done.stdout

    def test_framework_computes_what_is_expected(self) -> None:
        # Not the model's own cases, so nothing can come from the build.
        images = (_CASES[:20] * np.float32(0.7) + np.float32(0.1)).astype(np.float32)
        self.save("own", image=images)
        status, text = self.run_it(_HOST, "--data", "own.npz")
        self.assertEqual(status, 0, text)
        self.assertIn("all 20 samples are within", text)

    def test_qemu(self) -> None:
        status, text = self.run_it(
            _QEMU, "--data", self.data, "--expected", self.want, "--count", 5
        )
        self.assertEqual(status, 0, text)
        self.assertIn("all 5 samples are within", text)
        self.assertIn("target: right class first 100.0%", text)
        self.assertRegex(text, r"instructions of a run: \d")

    def test_the_damaged_layer_is_named(self) -> None:
        args = ("--data", self.data, "--expected", self.want, "--per-layer")
        status, text = self.run_it(_DAMAGED, *args, 6)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"2 +4 \(Linear\) .* of 60 +<- first")
        self.assertIn("command 2, vecmat_10x32_f32,\nof the layer 4 (Linear)\n", text)
        status, text = self.run_it(_QEMU, *args)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"2 +4 \(Linear\) .* 0 of 120")
        self.assertIn("all 3 compared dispatches agree", text)

    def test_the_damaged_layer_is_named_where_images_are_planes(self) -> None:
        golden = _imported(_DAMAGED_INT8).golden
        data = self.save("images", image=np.stack([case[0] for case in golden.inputs[:2]]))
        want = self.save("classes", p=np.stack([case[0] for case in golden.outputs[:2]]))
        status, text = self.run_it(_DAMAGED_INT8, "--data", data, "--expected", want, "--per-layer")
        self.assertEqual(status, 1, text)
        # All layers before it agree, although only one side has planes.
        self.assertEqual(len(re.findall(r" equal +0 of \d", text)), 10, text)
        self.assertRegex(text, r"command 10, matvec\w+,\nof the layer \S+/MatMul\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_sequences_are_compared_with_the_frameworks_state(self) -> None:
        x = np.random.default_rng(0).standard_normal((3, 5, 1, 8)).astype(np.float32)
        self.save("steps", x=x)
        status, text = self.run_it(_MEMORY, "--data", "steps.npz", "--per-layer", 2)
        self.assertEqual(status, 0, text)
        self.assertIn("all 15 calls are within", text)

    def test_the_order_of_a_sequence_matters(self) -> None:
        golden = _imported(_MEMORY).golden
        self.save("two", **{"step.x": np.stack([case[0] for case in golden.inputs[:2]])[None]})
        want = np.stack([case[0] for case in golden.outputs[:2]])[None]
        self.save("right", y=want)
        self.save("second", y=want[:, [0, 0]])
        for expected, message in (
            ("right.npz", "all 2 calls are within"),
            ("second.npz", "1 of 2 calls are outside of the model's tolerance; the worst are 1"),
        ):
            args = ("--data", "two.npz", "--expected", expected, "--entry", "step")
            self.assertIn(message, self.run_it(_MEMORY, *args)[1])

    def test_entry_points_without_samples(self) -> None:
        for entry, message in (
            ("nope", "no entry point nope: it has step, peek"),
            ("peek", "an entry point without inputs"),
        ):
            status, text = self.run_it(_MEMORY, "--data", self.data, "--entry", entry)
            self.assertEqual(status, 2, text)
            self.assertIn(message, text)

    def test_a_wrong_answer_is_found_and_saved(self) -> None:
        wrong = _WANT[:12].copy()
        wrong[7, 0, 3] += 1
        self.save("wrong", logits=wrong)
        status, text = self.run_it(
            _HOST, "--data", "data.npz", "--expected", "wrong.npz", "--worst", "worst.npz"
        )
        self.assertEqual(status, 1, text)
        self.assertIn("1 of 12 samples are outside of the model's tolerance; the worst are 7", text)
        with np.load(self.folder / "worst.npz") as saved:
            self.assertEqual(saved["index"][0], 7)
            np.testing.assert_array_equal(saved["image"][0], _CASES[7])
            np.testing.assert_array_equal(saved["expected_logits"][0], wrong[7])
            np.testing.assert_allclose(saved["target_logits"][0], _WANT[7], 1e-4, 1e-4)

    def test_mistakes(self) -> None:
        self.save("flat", image=_CASES[:3, 0, :5])
        self.save("few", logits=_WANT[:2])
        for args, message in (
            (("--data", "none.npz"), "none.npz cannot be read"),
            (("--data", "flat.npz"), "is 3x5xfloat32, and the model takes image: 1x64xf32"),
            (("--data", "data.npz", "--expected", "few.npz"), "few.npz has 2 samples"),
            (("--data", "data.npz", "--model", "other"), "the firmware has no model other"),
            # Said before anything is read or run.
            (("--data", "none.npz", "--per-layer"), "use it without `.host` in the target's name"),
            (
                ("--data", "data.npz", "--expected", "want.npz", "--port", "none"),
                "cannot be opened",
            ),
        ):
            with self.subTest(message):
                status, text = self.run_it(_HOST, *args)
                self.assertEqual(status, 2, text)
                self.assertIn("validate: ", text)
                self.assertIn(message, text)
                self.assertNotIn("Traceback", text)

    def test_ctrl_c_keeps_what_is_done(self) -> None:
        count = 12 * 200
        self.save("many", image=np.tile(_CASES[:12], (200, 1, 1)))
        self.save("answers", logits=np.tile(_WANT[:12], (200, 1, 1)))
        terminal, other = pty.openpty()
        with subprocess.Popen(
            [str(_QEMU.absolute()), "--data", "many.npz", "--expected", "answers.npz"],
            stdout=other,
            start_new_session=True,
            env={**os.environ, "BUILD_WORKING_DIRECTORY": str(self.folder), "TERM": "xterm"},
        ) as program:
            os.close(other)
            text = ""
            # The bar has shown that a sample is done.
            while not re.search(rf"[1-9]\d*/{count}", text):
                text += os.read(terminal, 4096).decode()
            os.killpg(program.pid, signal.SIGINT)
            # Reading fails once the other side is closed.
            with contextlib.suppress(OSError):
                while True:
                    text += os.read(terminal, 4096).decode()
        os.close(terminal)
        self.assertRegex(text, rf"stopped after \d+ of {count} samples")

    def test_a_board_without_an_emulator_needs_a_port(self) -> None:
        session = {**_SESSION, "run": [], "board": "bpi_f3"}
        path = self.folder / "session.json"
        path.write_text(json.dumps(session))
        args = ["--session", str(path), "--data", str(self.data), "--expected", str(self.want)]
        self.assertEqual(validate.main(args), 2)


if __name__ == "__main__":
    unittest.main()
