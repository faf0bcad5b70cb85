"""Plays the runner of MLPerf Tiny, on the serial line of images in QEMU."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tools.report import baseline
from tools.run import process

Array = npt.NDArray[np.float64]

QEMU = ["-machine", "virt", "-m", "512M", "-bios", "none", "-display", "none", "-monitor", "none"]
CPU = ["-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256,elen=64"]
# An instruction takes a nanosecond of the device's time.
CLOCK = ["-icount", "shift=0"]
# Only a broken device takes so long.
SECONDS = 300
# What the runners send in one command.
CHUNK = 31
READY = "m-ready"


class Line:
    """A serial line with a device at its other end."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.connection.settimeout(SECONDS)
        self.greeting = self.answer()

    def answer(self) -> list[str]:
        """Returns the lines before the next m-ready."""
        data = b""
        while not data.endswith(f"{READY}\r\n".encode()):
            more = self.connection.recv(65536)
            if not more:
                raise EOFError(f"the device is gone after {data!r}")
            data += more
        return data.decode("ascii").split("\r\n")[:-2]

    def command(self, text: str | bytes) -> list[str]:
        self.connection.sendall((text if isinstance(text, bytes) else text.encode()) + b"%")
        return self.answer()


class Runner:
    """Measures a device as the official runners do."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def model(self) -> str:
        name = re.fullmatch(r"m-name-dut-\[([^]]+)\]", "\n".join(self.line.command("name")))
        profile, model = self.line.command("profile")
        assert name and profile == "m-profile-[ULPMark for tinyML Firmware V0.0.1]"
        return model.removeprefix("m-model-[").removesuffix("]")

    def load(self, data: bytes) -> None:
        size = self.line.command(f"db load {len(data)}")
        assert size == [f"m-[Expecting {len(data)} bytes]"], size
        for at in range(0, len(data), CHUNK):
            said = self.line.command(f"db {data[at : at + CHUNK].hex()}")
            assert said == (["m-load-done"] if at + CHUNK >= len(data) else []), said

    def infer(self, count: int = 1, warmups: int = 0) -> tuple[Array, int]:
        """Returns the results and the measured microseconds."""
        said = self.line.command(f"infer {count} {warmups}")
        steps = [f"m-warmup-start-{warmups}", "m-warmup-done", f"m-infer-start-{count}"]
        assert [*said[:3], said[5]] == [*steps, "m-infer-done"], said
        start, end = (int(text.removeprefix("m-lap-us-")) for text in said[3:5])
        return results(said[6]), end - start


def results(line: str) -> Array:
    found = re.fullmatch(r"m-results-\[([^]]+)\]", line)
    assert found, line
    return np.array([float(text) for text in found[1].split(",")])


def agree(got: Array, want: Array) -> bool:
    """Whether the class is the framework's, and so is every value, but for the digits printed."""
    return bool(
        got.shape == want.shape and got.argmax() == want.argmax() and abs(got - want).max() < 1e-6
    )


@contextlib.contextmanager
def booted(benchmark: str) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(folder) / "line")
        server.bind(path)
        server.listen()
        server.settimeout(SECONDS)
        qemu = str(Path(os.environ["QEMU"]).absolute())
        kernel = ["-kernel", os.environ[benchmark.upper()]]
        emulator = process.start([qemu, *QEMU, *CPU, *CLOCK, *kernel, "-serial", f"unix:{path}"])
        try:
            connection, _ = server.accept()
            with connection:
                yield Line(connection)
        finally:
            process.end(emulator)
            assert emulator.stdout is not None
            emulator.stdout.close()


def golden(variable: str, elements: tuple[int, int], dtype: str) -> list[tuple[Array, Array]]:
    """Returns input and the framework's output of each case, of a model with one of each."""
    data = Path(os.environ[variable]).read_bytes()
    cases: list[Array] = []
    at = 0
    while at < len(data):
        array = np.frombuffer(data, dtype, elements[len(cases) % 2], at)
        cases.append(array.astype(np.float64))
        at += -(-array.nbytes // 64) * 64
    return list(zip(cases[::2], cases[1::2], strict=True))


def quantization(variable: str) -> tuple[float, int]:
    """Returns scale and zero point of an input or output."""
    scale, zero_point = os.environ[variable].split()
    return float(scale.removesuffix("f")), int(zero_point)


@dataclass(frozen=True)
class Classifier:
    """A benchmark whose results are probabilities. `zero` stands for int8 0 on the line."""

    name: str
    elements: tuple[int, int]
    zero: int
    case_count: int

    def cases(self) -> list[tuple[bytes, Array]]:
        """Returns what the runner sends for each case, and the results it must get."""
        return [
            ((x + self.zero).astype(np.int64).astype(np.uint8).tobytes(), (y + 128) / 256)
            for x, y in golden(f"{self.name.upper()}_GOLDEN", self.elements, "i1")
        ][: self.case_count]


IC01 = Classifier("ic01", (32 * 32 * 3, 10), 128, 2)
KWS01 = Classifier("kws01", (49 * 10, 12), 0, 2)
VWW01 = Classifier("vww01", (96 * 96 * 3, 2), 128, 1)


class BenchmarkTest(unittest.TestCase):
    def test_classifiers_answer_as_the_framework_does(self) -> None:
        for benchmark in (IC01, KWS01, VWW01):
            with self.subTest(benchmark.name), booted(benchmark.name) as line:
                runner = Runner(line)
                self.assertEqual(runner.model(), benchmark.name)
                for data, want in benchmark.cases():
                    runner.load(data)
                    got, _ = runner.infer()
                    self.assertTrue(agree(got, want), f"{got} instead of {want}")

    def test_ad01_reports_the_error_of_the_reconstruction(self) -> None:
        # The same windows as floats, as the runner has them.
        floats = golden("AD_F32_GOLDEN", (640, 640), "<f4")[:2]
        quantized = golden("AD01_GOLDEN", (640, 640), "i1")[:2]
        with booted("ad01") as line:
            runner = Runner(line)
            self.assertEqual(runner.model(), "ad01")
            for (window, reference), (stored, output) in zip(floats, quantized, strict=True):
                scale, zero_point = quantization("AD01_INPUT")
                self.assertEqual((np.rint(window / scale) + zero_point).tolist(), stored.tolist())
                runner.load(window.astype("<f4").tobytes())
                (got,), _ = runner.infer()
                scale, zero_point = quantization("AD01_OUTPUT")
                want = np.mean((scale * (output - zero_point) - window) ** 2)
                self.assertAlmostEqual(got, want, delta=1e-5)
                # The float model knows nothing of scales.
                real = np.mean((reference - window) ** 2)
                self.assertAlmostEqual(got / real, 1, delta=0.02)


class MeasureTest(unittest.TestCase):
    def setUp(self) -> None:
        self.line = self.enterContext(booted("kws01"))
        self.runner = Runner(self.line)
        self.cases = KWS01.cases()

    def test_the_device_says_when_it_is_ready(self) -> None:
        mode, lap, done = self.line.greeting
        self.assertEqual((mode, done), ("m-timestamp-mode-performance", "m-init-done"))
        self.assertRegex(lap, r"^m-lap-us-\d+$")

    def test_every_inference_is_timed_and_gets_the_same_input(self) -> None:
        data, want = self.cases[0]
        self.runner.load(data)
        got, once = self.runner.infer(1, 2)
        self.assertTrue(agree(got, want))
        lines = baseline.read(Path(os.environ["BASELINE"]).read_text())
        # QEMU's device takes a nanosecond for an instruction; conversion and clock are the rest.
        want_us = lines["ds_cnn_int8_rv64"].numbers["instructions"] / 1000
        self.assertAlmostEqual(once / want_us, 1, delta=0.1)
        got, often = self.runner.infer(20, 0)
        self.assertTrue(agree(got, want))
        self.assertAlmostEqual(often / once, 20, delta=0.5)
        self.assertEqual(results(*self.line.command("results")).tolist(), got.tolist())

    def test_a_wrong_input_is_noticed(self) -> None:
        (data, want), (_, other) = self.cases
        self.runner.load(bytes(byte ^ 0x40 for byte in data[:245]) + data[245:])
        got, _ = self.runner.infer()
        self.assertFalse(agree(got, want))
        self.runner.load(data)
        got, _ = self.runner.infer()
        self.assertFalse(agree(got, other))
        self.assertFalse(agree(got, want + 1 / 256))

    def test_hostile_lines_are_refused_and_lose_nothing(self) -> None:
        data, want = self.cases[1]
        hostile: list[tuple[str | bytes, str]] = [
            ("x" * 81, "e-[A command has at most 80 characters]"),
            (b"\x00\xff\x1b]" * 500, "e-[A command has at most 80 characters]"),
            ("", "e-[Unknown command: ]"),
            (b"\xde\xadinfer 1", "e-[Unknown command: ??infer]"),
            ("reset", "e-[Unknown command: reset]"),
            ("db 0", "e-[Insufficient number of hex digits]"),
            ("db 0g", "e-[Invalid hex digit 'g']"),
            ("db load 491", "e-[The input has at most 490 bytes]"),
            ("db load 99999999999", "e-['db load' needs a number of bytes, at least 1]"),
            ("infer 1 0", "e-[The input must have 490 bytes]"),
            ("results", "e-[No results: 'infer' comes first]"),
        ]
        self.line.command("db load 490")
        for at in range(0, len(data), CHUNK):
            for text, refusal in hostile:
                if len(text) < 1000 or at == 0:
                    self.assertEqual(self.line.command(text), [refusal])
            said = self.line.command(f"db {data[at : at + CHUNK].hex()}")
        self.assertEqual(said, ["m-load-done"])
        more = "e-[More bytes than the 490 that 'db load' announced]"
        self.assertEqual(self.line.command("db 00"), [more])
        printed = [line.removeprefix("m-buffer-") for line in self.line.command("db print")]
        self.assertEqual("-".join(printed), data.hex("-"))
        self.assertTrue(agree(self.runner.infer()[0], want))


if __name__ == "__main__":
    unittest.main()
