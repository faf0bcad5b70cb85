"""gdb and QEMU on real firmware: stopping, dumping, printing, bisecting."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from tools.run.debug import session
from tools.run.debug.program import Program
from tools.run.decode_status import decode

FILES = {Path(path).name: Path(path) for path in os.environ["MODEL"].split()}
REPORT = json.loads(FILES["report.json"].read_text())
ALIGNMENT = 64


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ[program], *options], capture_output=True, text=True)


def debug(*options: str) -> str:
    done = run("DEBUG", "--batch", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def case(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Input and the framework's own output of a case of the model, from golden.bin."""
    data = FILES["golden.bin"].read_bytes()
    inputs, outputs = 64 * 4, ALIGNMENT
    start = number * (inputs + outputs)
    image, logits = data[start : start + inputs], data[start + inputs : start + inputs + 40]
    return np.frombuffer(image, np.float32), np.frombuffer(logits, np.float32)


class StopTest(unittest.TestCase):
    def test_the_first_dispatch_has_a_name_and_callers(self) -> None:
        name = REPORT["dispatches"][0]["name"]
        text = debug()
        self.assertIn(f"Before command 0: {name}", text)
        self.assertRegex(text, rf"#0 .*fixture_k_{name} \(\)")
        for function in ("bm_plan_run", "bm_model_run", "bm_self_check_run", "main"):
            self.assertRegex(text, rf"#\d+ .*\b{function} \(")

    def test_kernels_that_were_loaded_have_names_and_callers(self) -> None:
        done = run("LOADED", "--batch", "--dispatch", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        name = REPORT["dispatches"][1]["name"]
        self.assertRegex(done.stdout, rf"#0 .*fixture_loaded_k_{name} \(\)")
        self.assertRegex(done.stdout, r"#\d+ .*\bbm_plan_run \(")
        self.assertRegex(done.stdout, r"#\d+ .*\bmain \(")

    def test_vector_code_is_shown_as_such(self) -> None:
        # Newer versions of gdb name the array that a kernel was loaded into.
        for program, kernel in (("DEBUG", "fixture_k_"), ("LOADED", "fixture_loaded_(k_|code)")):
            with self.subTest(program):
                done = subprocess.run(
                    [os.environ[program]],
                    input="x/100i $pc\nquit\n",
                    capture_output=True,
                    text=True,
                )
                self.assertRegex(done.stdout, rf"<{kernel}[^>]*>:\s*vfmacc\.vf\tv\d+,f\w+,v\d+")

    def test_dump_of_the_last_dispatch_is_the_models_output(self) -> None:
        for program in ("DEBUG", "LOADED", "RV32"):
            with self.subTest(program):
                self.check_last_dispatch(program)

    def check_last_dispatch(self, program: str) -> None:
        last = len(REPORT["commands"]) - 1
        with tempfile.TemporaryDirectory() as folder:
            options = ("--batch", "--dispatch", str(last), "--call", "2", "--dump", folder)
            done = run(program, *options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            found = sorted(Path(folder).iterdir())
            outputs = [path for path in found if ".out" in path.name]
            self.assertEqual(len(outputs), 1, found)
            got = np.load(outputs[0])
        self.assertEqual((got.dtype, got.shape), (np.dtype(np.float32), (10,)))
        np.testing.assert_allclose(got, case(2)[1], 1e-5, 1e-4)
        # It is this case's output and not another one.
        self.assertGreater(np.abs(got - case(0)[1]).max(), 0.1)

    def test_dump_of_the_first_dispatch_has_the_models_input(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            debug("--dispatch", "0", "--call", "1", "--dump", folder)
            inputs = {path.name.split(".")[1]: np.load(path) for path in Path(folder).iterdir()}
        np.testing.assert_array_equal(inputs["in0"], case(1)[0])
        self.assertEqual(inputs["in1"].shape, (64, 64))

    def test_leaving_gdb_ends_everything(self) -> None:
        done = subprocess.run([os.environ["DEBUG"]], input="quit\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Before command 0", done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("BM1 CASE", done.stdout)

    def test_what_cannot_be_is_a_sentence(self) -> None:
        for options, sentence in (
            (("--dispatch", "3"), "debug: fixture has commands 0 to 2"),
            (("--model", "other"), "debug: the image has no model other; its models: fixture"),
        ):
            done = run("DEBUG", "--batch", *options)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(sentence, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_an_image_without_a_model_stops_at_main(self) -> None:
        done = run("PLAIN", "--batch")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The image has no model; stopped at main.", done.stdout)
        self.assertRegex(done.stdout, r"#0 .*\bmain \(")

    def test_what_does_not_get_there_is_a_sentence(self) -> None:
        done = run("PLAIN", "--batch", "--dump", "nowhere")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("debug: no model is running here", done.stderr)


class FlowTest(unittest.TestCase):
    """Loops and several entry points."""

    def test_a_loop_is_compared_round_by_round(self) -> None:
        for call, count in (("0", 2), ("1", 11)):  # no round, three rounds
            done = run("LOOP_BISECT", "--call", call)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"the outputs of all {count} dispatches agree", done.stdout)

    def test_a_trap_would_name_the_command(self) -> None:
        # The second entry point does not begin at command 0.
        text = session_of("MEMORY", ["ironcast stop - 1", "print bm_trap_dispatch"])
        command = re.search(r"Before command (\d+): [^(]*\(call 1, (\w+)\)", text)
        assert command is not None, text
        self.assertGreater(int(command[1]), 0)
        self.assertIn(f"$1 = {command[1]}\n", text)


def session_data(program: str) -> dict[str, Any]:
    """What the rule wrote about a program."""
    data: dict[str, Any] = json.loads(
        Path(os.environ[program].removesuffix(".sh") + ".json").read_text()
    )
    return data


def session_of(program: str, commands: list[str]) -> str:
    """The output of gdb for these commands."""
    data = session_data(program)
    return session.batch(data["gdb"], Program.of(data["program"]), commands)


class PrinterTest(unittest.TestCase):
    def test_values_are_shown_as_a_person_says_them(self) -> None:
        files = decode.read_tables(session.STATUS_H.read_text()).files
        model_c = next(number for number, path in files.items() if path.endswith("model.c"))
        text = session_of(
            "DEBUG",
            [
                "ironcast stop 0 1",
                f"print (bm_status_t){{{model_c << 24 | 93 << 12 | 3}}}",
                "print (bm_status_t){0}",
                "print *$plan",
                "print $inputs[0]",
                "print $bindings[0]",
                "print (*$in0)[1]",
                "tbreak bm_compare_output",
                "continue",
                "print *got",
            ],
        )
        self.assertIn("= INVALID_ARGUMENT, runtime_bm/model/model.c:93\n", text)
        self.assertIn("= ok\n", text)
        self.assertRegex(
            text, r"= plan fixture: 3 kernels, \d+ bytes of arena, .*command 2: main_disp"
        )
        self.assertIn("= f32[1x64] image in arena[0..256)\n", text)
        self.assertIn("= arena[0..256)\n", text)
        self.assertIn(f"= {case(1)[0][1]:g}\n", text)
        shown = re.search(r"= f32\[1x10\] logits = \{(.*)\}", text)
        assert shown is not None, text
        values = [float(word) for word in shown[1].split(", ")]
        np.testing.assert_allclose(values, case(1)[1], 1e-4, 1e-4)


class BisectTest(unittest.TestCase):
    def test_the_dispatch_that_reads_the_changed_weight_is_named(self) -> None:
        done = run("MUTATED_BISECT")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        # `bmc mutate` changes the weight that is used last.
        last = REPORT["dispatches"][-1]
        self.assertRegex(
            done.stdout,
            rf"^fixture, call \d+: command {len(REPORT['commands']) - 1}, {last['name']} "
            rf"\({last['op']}, made of {last['source']}\), is the first whose outputs differ "
            r"between qemu_virt_rv64 and host_x86_64: out\d differs in \d+ of 10 elements, by up to",
        )

    def test_each_side_is_read_by_its_own_report(self) -> None:
        data = session_data("BISECT")
        sides = (Program.of(data[side]) for side in ("program", "reference"))
        isas = [side.report("fixture").isa for side in sides]
        self.assertEqual(isas, ["rv64gcv_zvl256b", "x86_64"])

    def test_the_same_model_on_both_sides_agrees(self) -> None:
        done = run("BISECT")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the outputs of all 3 dispatches agree between", done.stdout)


if __name__ == "__main__":
    unittest.main()
