"""What counts as a pass, and what must not."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import tempfile
import unittest
from pathlib import Path

from tools.run import judge, result

GOOD = (
    "BM1 BOOT isa=i vlen=256 board=b",
    "BM1 MODEL name=m",
    "hello",
    "BM1 HASH 00ff",
    "BM1 PASS cases=1",
)
TWO = (*GOOD[:-1], "BM1 MODEL name=n", "BM1 HASH 1111", "BM1 PASS cases=2")


def run(*lines: str, status: int | None = 0) -> result.Outcome:
    return result.Outcome(lines, status)


class JudgeTest(unittest.TestCase):
    def test_pass_needs_record_and_status(self) -> None:
        self.assertTrue(result.judge(run(*GOOD)).ok)

    def test_what_must_not_pass(self) -> None:
        trap = "BM1 TRAP cause=2 epc=80000000 tval=0 dispatch=3"
        bad = {
            "exit status 1": run(*GOOD, status=1),
            "without a PASS record": run("BM1 BOOT isa=i", "PASS", status=0),
            "deadline": run(*GOOD, status=None),
            "TRAP cause=2": run(*GOOD[:-1], trap, "BM1 PASS cases=1"),
            "FAIL cases=1": run("BM1 FAIL cases=1 bad=1", status=1),
            "ERROR status": run("BM1 ERROR status=00000001 no", status=1),
            "went on after PASS": run(*GOOD, "BM1 HASH 00ff"),
        }
        for sentence, outcome in bad.items():
            verdict = result.judge(outcome)
            self.assertFalse(verdict.ok, sentence)
            self.assertIn(sentence, verdict.sentence)

    def test_pass_then_trap(self) -> None:
        verdict = result.judge(run(*GOOD, "BM1 TRAP cause=5 epc=0 tval=0 dispatch=-", status=1))
        self.assertFalse(verdict.ok)
        self.assertIn("TRAP cause=5", verdict.sentence)

    def test_records_that_contradict_pass(self) -> None:
        boot, model, *_ = GOOD
        cases = [f"BM1 CASE index={index} result=ok" for index in range(2)]
        accuracy = "BM1 ACCURACY correct=2 total=2 framework=2"
        end = "BM1 PASS cases=2"
        for lines in (
            (boot, model, *cases, accuracy, end),
            (boot, model, cases[0], model, cases[0], end),
        ):
            self.assertTrue(result.judge(run(*lines)).ok, lines)
        bad = {
            "where case 1 was due: CASE index=0": (boot, model, cases[0], cases[0], end),
            "where case 0 was due: CASE index=1": (boot, model, cases[1], cases[0], end),
            "where case 0 was due: CASE index=1 ": (boot, model, cases[0], model, cases[1], end),
            "PASS beside: ACCURACY correct=1": (
                *(boot, model, *cases, accuracy.replace("correct=2", "correct=1")),
                end,
            ),
            "has no `index`": (boot, model, cases[0], "BM1 CASE result=ok", end),
            "has no `framework`": (boot, model, *cases, "BM1 ACCURACY correct=2", end),
        }
        for sentence, lines in bad.items():
            verdict = result.judge(run(*lines))
            self.assertFalse(verdict.ok, sentence)
            self.assertIn(sentence, verdict.sentence)

    def test_a_board_that_started_again(self) -> None:
        boot, model, *_ = GOOD
        wrong, case = (f"BM1 CASE index=0 result={word}" for word in ("mismatch", "ok"))
        good = (boot, model, case, "BM1 PASS cases=1")
        verdict = result.judge(run(boot, model, wrong, *good))
        self.assertFalse(verdict.ok)
        self.assertIn(f"started again amid the run, after: {wrong[4:]}", verdict.sentence)
        # What another image printed before the reset, or an image whose beginning was not seen, does not count.
        for before in (
            (model, wrong),
            (boot.replace("=b", "=c"), model, wrong),
            (boot, model, case, "BM1 CASE index=1 resu"),
        ):
            self.assertTrue(result.judge(run(*before, *good)).ok, before)

    def test_pass_inside_text_is_no_record(self) -> None:
        self.assertFalse(result.judge(run("the model says BM1 PASS cases=1")).ok)


class ExpectedEndTest(unittest.TestCase):
    def test_announced_failure(self) -> None:
        failed = run("BM1 FAIL cases=1 bad=1", status=1)
        self.assertTrue(result.judge_expected(failed, "FAIL").ok)
        self.assertTrue(result.judge_expected(failed, "FAIL", "bad=1").ok)

    def test_negative_control_that_passes_is_a_failure(self) -> None:
        self.assertFalse(result.judge_expected(run(*GOOD), "FAIL").ok)

    def test_other_end_other_text_or_status_zero(self) -> None:
        self.assertFalse(result.judge_expected(run("BM1 TRAP cause=2", status=1), "FAIL").ok)
        failed = run("BM1 FAIL cases=1 bad=1", status=1)
        self.assertFalse(result.judge_expected(failed, "FAIL", "bad=2").ok)
        self.assertFalse(result.judge_expected(run("BM1 FAIL cases=1 bad=1"), "FAIL").ok)

    def test_pass_beside_the_announced_end_is_a_failure(self) -> None:
        failed = "BM1 FAIL cases=1 bad=1"
        for lines in ((*GOOD, failed), (failed, *GOOD)):
            for text in ("", "bad=1"):
                verdict = result.judge_expected(run(*lines, status=1), "FAIL", text)
                self.assertFalse(verdict.ok)
                self.assertIn("PASS beside: FAIL", verdict.sentence)

    def test_text_is_whole_words(self) -> None:
        failed = run("BM1 FAIL cases=1 bad=11 models=a,b", status=1)
        self.assertTrue(result.judge_expected(failed, "FAIL", "models=a,b").ok)
        self.assertFalse(result.judge_expected(failed, "FAIL", "models=a").ok)
        self.assertFalse(result.judge_expected(failed, "FAIL", "bad=1").ok)


class ApplicationTest(unittest.TestCase):
    def test_exit_status_0_passes(self) -> None:
        for lines in ((), ("digit 7",), GOOD):
            self.assertTrue(result.judge_expected(run(*lines), "EXIT").ok)

    def test_any_other_end_is_a_sentence(self) -> None:
        bad = {
            "ended with exit status 7: 0 from main": run("digit 7", status=7),
            "reported: TRAP cause=2": run("BM1 TRAP cause=2"),
            "reported: ERROR status": run("BM1 ERROR status=00000001 stack overflow"),
            "reported: FAIL cases=1": run("BM1 FAIL cases=1 bad=1"),
            "the deadline passed before the application": run("digit 7", status=None),
        }
        for sentence, outcome in bad.items():
            verdict = result.judge_expected(outcome, "EXIT")
            self.assertFalse(verdict.ok, sentence)
            self.assertIn(sentence, verdict.sentence)

    def test_a_line_of_the_console_may_be_expected(self) -> None:
        printed = run("digit 7", "done")
        self.assertTrue(result.judge_expected(printed, "EXIT", "digit 7").ok)
        for line in ("digit", "digit 77"):
            verdict = result.judge_expected(printed, "EXIT", line)
            self.assertFalse(verdict.ok)
            self.assertIn(f"did not print the line '{line}'", verdict.sentence)

    def test_the_self_check_is_the_default(self) -> None:
        self.assertFalse(judge.all_end({"a": run("digit 7")}, "PASS", "").ok)
        self.assertTrue(judge.all_end({"a": run("digit 7")}, "EXIT", "").ok)


class AllEndTest(unittest.TestCase):
    def test_one_that_ends_otherwise_is_named(self) -> None:
        trap = run("BM1 TRAP cause=2", status=3)
        self.assertTrue(judge.all_end({"a": trap, "b": trap}, "TRAP", "cause=2").ok)
        for other in (run(*GOOD), run("BM1 TRAP cause=5", status=3), run(status=None)):
            verdict = judge.all_end({"a": trap, "b": other}, "TRAP", "cause=2")
            self.assertFalse(verdict.ok)
            self.assertRegex(verdict.sentence, "^b: ")


class ModelsTest(unittest.TestCase):
    def test_records_belong_to_the_model_before_them(self) -> None:
        models = run(*TWO).models()
        self.assertEqual(list(models), ["m", "n"])
        self.assertEqual([r.text for r in models["m"]], ["HASH 00ff"])
        self.assertEqual([r.text for r in models["n"]], ["HASH 1111"])

    def test_what_follows_the_end_belongs_to_none(self) -> None:
        models = run(*TWO, "BM1 STATS instret=1").models()
        self.assertEqual([r.text for r in models["n"]], ["HASH 1111"])


class AgreeTest(unittest.TestCase):
    def test_damaged_records_are_a_sentence(self) -> None:
        for line, sentence in (
            ("BM1 MODEL", "the record 'MODEL' has no `name`: the console lost"),
            ("BM1 HASH", "the record 'HASH' has no hash"),
            ("BM1 HASH zz", "the record 'HASH zz' has no hash"),
        ):
            damaged = run(*(line if good.startswith(line[:8]) else good for good in GOOD))
            verdict = judge.agree({"a": damaged, "b": damaged})
            self.assertFalse(verdict.ok)
            self.assertIn(sentence, verdict.sentence)

    def test_fields_are_read_as_numbers(self) -> None:
        (record,) = result.parse(["BM1 CASE index=12 max_abs=1.5e-07 differing=1_0 cosine=nan"])
        self.assertEqual(record.number("index"), 12)
        self.assertEqual(record.real("max_abs"), 1.5e-07)
        self.assertNotEqual(record.real("cosine"), record.real("cosine"))
        for key in ("max_abs", "differing", "hash"):
            with self.assertRaisesRegex(result.RecordError, f"`{key}`"):
                record.number(key)

    def test_same_bits(self) -> None:
        self.assertTrue(judge.agree({"a": run(*GOOD), "b": run(*GOOD)}).ok)

    def test_one_bit_off(self) -> None:
        other = run("BM1 MODEL name=m", "BM1 HASH 00fe", "BM1 PASS cases=1")
        verdict = judge.agree({"a": run(*GOOD), "b": other})
        self.assertFalse(verdict.ok)
        self.assertIn("b: m 00fe", verdict.sentence)

    def test_every_model_counts(self) -> None:
        self.assertTrue(judge.agree({"a": run(*TWO), "b": run(*TWO)}).ok)
        second = run(*TWO[:-2], "BM1 HASH 1112", TWO[-1])
        verdict = judge.agree({"a": run(*TWO), "b": second})
        self.assertFalse(verdict.ok)
        self.assertIn("a: n 1111; b: n 1112", verdict.sentence)
        missing = judge.agree({"a": run(*TWO), "b": run(*GOOD)})
        self.assertFalse(missing.ok)
        self.assertIn("a: n 1111; b: n None", missing.sentence)

    def test_failed_run_names_its_model(self) -> None:
        failed = run(*TWO[:-1], "BM1 FAIL cases=2 bad=1 models=n", status=1)
        verdict = judge.agree({"a": run(*TWO), "b": failed})
        self.assertFalse(verdict.ok)
        self.assertIn("b did not pass", verdict.sentence)
        self.assertIn("models=n", verdict.sentence)

    def test_failed_run_and_missing_hash(self) -> None:
        self.assertFalse(judge.agree({"a": run(*GOOD), "b": run(*GOOD, status=3)}).ok)
        self.assertFalse(judge.agree({"a": run(*GOOD), "b": run("BM1 PASS cases=1")}).ok)
        unhashed = run("BM1 MODEL name=m", "BM1 PASS cases=1")
        self.assertFalse(judge.agree({"a": unhashed, "b": unhashed}).ok)
        # Runs that say nothing of any model do not agree on one.
        without = run("BM1 PASS cases=1")
        self.assertFalse(judge.agree({"a": without, "b": without}).ok)


class MainTest(unittest.TestCase):
    def judged(self, *args: str, **runs: result.Outcome) -> tuple[int, list[str]]:
        """Judges recorded runs; returns the exit status and what is printed."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        report = folder / "report.json"
        report.write_text('{"name": "m", "golden": {"second_reference": "IREE agrees"}}')
        for name, outcome in runs.items():
            (folder / f"{name}.json").write_text(json.dumps(dataclasses.asdict(outcome)))
        records = [str(folder / f"{name}.json") for name in runs]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = judge.main([*args, "--model-report", str(report), *records])
        return status, said.getvalue().splitlines()

    def test_a_run_is_shown_and_judged(self) -> None:
        self.assertEqual(self.judged(a=run(*GOOD)), (0, ["a:", *GOOD, "ok: a: PASS cases=1"]))
        status, said = self.judged(a=run(*GOOD, status=3))
        self.assertEqual((status, said[:2], said[-1]), (1, ["a:", GOOD[0]], "m: IREE agrees"))

    def test_of_runs_that_should_agree_only_one_that_failed_is_shown(self) -> None:
        status, said = self.judged("--agree", a=run(*GOOD), b=run(*GOOD))
        self.assertEqual((status, said), (0, ["ok: 2 runs agree: m 00ff"]))
        status, said = self.judged("--agree", a=run(*GOOD), b=run(*GOOD, status=3))
        self.assertEqual((status, said[0], said[-1]), (1, "b:", "m: IREE agrees"))
        self.assertNotIn("a:", said)

    def test_one_run_cannot_agree(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            self.judged("--agree", a=run(*GOOD))
        self.assertIn("compares two or more runs", said.getvalue())


if __name__ == "__main__":
    unittest.main()
