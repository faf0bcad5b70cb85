"""What the page shows of real reports and of small ones, the trace, and what is refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from blank import blank

from bmc import records
from bmc.report import FORMAT_VERSION, Arena, Binding, Command, Entry, Life, Model, Tensor
from tools.report.files import save
from tools.report.memory.points import Frontier, Frontiers, Point
from tools.report.report import Image
from tools.report.view import compare, page_data, tensors, trace, view

PATHS = [Path(path) for path in os.environ["REPORTS"].split()]
REPORTS = [json.loads(path.read_text()) for path in PATHS]
HARTS_REPORT = json.loads(Path(os.environ["HARTS_REPORT"]).read_text())
DEVICE_REPORT = json.loads(Path(os.environ["DEVICE_REPORT"]).read_text())


def built(report: dict[str, Any]) -> dict[str, Any]:
    return page_data.build(records.decode(Image, report))


def copy_of(report: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(report)))


def binding(offset: int, size: int, *, reads: bool = False, writes: bool = False) -> Binding:
    return Binding("arena", offset, size, reads, writes)


def command(*bindings: Binding) -> Command:
    return blank(Command, kind="dispatch", function="f", bindings=bindings)


class TensorsTest(unittest.TestCase):
    def entry(self, *commands: Command, tensors_: list[Life]) -> dict[str, Any]:
        entry = blank(
            Entry,
            name="main",
            command_count=len(commands),
            inputs=(blank(Tensor, name="x", offset=0, bytes=64),),
            outputs=(blank(Tensor, name="y", offset=64, bytes=64),),
            tensors=tuple(tensors_),
        )
        model = blank(Model, arena=blank(Arena, bytes=128), commands=commands)
        return tensors.of_entry(model, entry)

    def test_two_tensors_in_one_place_have_their_own_ways(self) -> None:
        found = self.entry(
            command(binding(0, 64, reads=True), binding(64, 64, writes=True)),
            command(binding(64, 64, reads=True), binding(0, 64, writes=True)),
            command(binding(0, 64, reads=True), binding(64, 64, writes=True)),
            tensors_=[
                Life("arena", 0, 64, 0, 1),
                Life("arena", 64, 64, 0, 2),
                Life("arena", 0, 64, 1, 3),
                Life("arena", 64, 64, 2, 4),
            ],
        )
        ways = [(way["tensor"], way["writer"], way["readers"]) for way in found["ways"]]
        self.assertEqual(ways, [(0, None, [0]), (1, 0, [1]), (2, 1, [2])])
        kinds = [(row["kind"], row["name"]) for row in found["tensors"]]
        self.assertEqual(
            kinds, [("input", "x"), ("between", "f"), ("between", "f"), ("output", "y")]
        )
        # One follows the other, so all are in one lane; the output ends with the last command.
        self.assertEqual({way["lane"] for way in found["ways"]}, {0})
        self.assertEqual(found["tensors"][3]["end"], 3)

    def test_fast_memory_is_behind_the_arena(self) -> None:
        fast = Binding("fast", 0, 64, False, True)
        found = self.entry(
            command(binding(0, 64, reads=True), fast),
            command(Binding("fast", 0, 64, True, False), binding(64, 64, writes=True)),
            tensors_=[Life("arena", 0, 64, 0, 1), Life("fast", 0, 64, 0, 2)],
        )
        self.assertEqual([row["offset"] for row in found["tensors"]], [0, 128])
        ways = [(way["tensor"], way["writer"], way["readers"]) for way in found["ways"]]
        self.assertEqual(ways, [(0, None, [0]), (1, 0, [1])])

    def test_parts_are_read_from_who_wrote_them(self) -> None:
        found = self.entry(
            command(binding(64, 32, writes=True)),
            command(binding(96, 32, writes=True)),
            command(binding(96, 32, reads=True)),
            command(binding(64, 64, reads=True)),
            tensors_=[Life("arena", 0, 64, 0, 1), Life("arena", 64, 64, 0, 5)],
        )
        ways = [(way["writer"], way["readers"], way["lane"]) for way in found["ways"]]
        self.assertEqual(ways, [(0, [3], 0), (1, [2, 3], 1)])

    def test_what_is_written_again_is_not_read_from_the_first_writer(self) -> None:
        found = self.entry(
            command(binding(64, 64, writes=True)),
            command(binding(64, 64, reads=True, writes=True)),
            command(binding(64, 64, reads=True)),
            tensors_=[Life("arena", 0, 64, 0, 1), Life("arena", 64, 64, 0, 4)],
        )
        self.assertEqual([(w["writer"], w["readers"]) for w in found["ways"]], [(0, [1]), (1, [2])])


class DataTest(unittest.TestCase):
    def test_stretches_lie_on_the_critical_path(self) -> None:
        for report in REPORTS:
            self.assertIsNone(built(report)["models"][0]["harts"])
        (model,) = built(HARTS_REPORT)["models"]
        harts = model["harts"]
        self.assertEqual(harts["count"], 4)
        end = 0
        for stretch in harts["stretches"]:
            self.assertEqual(stretch["begin"], end)
            self.assertEqual(stretch["longest"], max(stretch["work"]))
            end += stretch["longest"] + stretch["barrier"]
        self.assertEqual(end, harts["critical"])
        self.assertEqual(model["instructions"], end)
        done = [index for stretch in harts["stretches"] for index in stretch["commands"]]
        self.assertEqual(sorted(done), [command["index"] for command in model["commands"]])
        self.assertGreater(harts["percent"], 75)
        (note,) = (
            row["note"] for row in built(HARTS_REPORT)["summary"] if row["label"] == "Instructions"
        )
        self.assertEqual(note, "on the critical path in one inference at VLEN 256")

    def test_real_reports_add_up(self) -> None:
        for report in REPORTS:
            (model,) = built(report)["models"]
            (compiled,), (measured,) = report["models"], report["run"]["models"]
            spent = sum(row["instructions"] for row in measured["commands"])
            self.assertEqual(sum(row["instructions"] for row in model["layers"]), spent)
            self.assertEqual(model["macs"], compiled["macs"]["main"])
            self.assertEqual(
                sum(row["bytes"] for row in model["weights"]),
                compiled["flash"]["weights_distinct_bytes"],
            )
            (entry,) = model["entries"]
            highest = max(row["offset"] + row["bytes"] for row in entry["tensors"])
            self.assertLessEqual(highest, compiled["arena"]["bytes"])
            # What is alive at once is what the compiler says is the bound, without alignment.
            for index in range(entry["first"], entry["end"]):
                alive = [
                    row["bytes"] for row in entry["tensors"] if row["first"] <= index < row["end"]
                ]
                self.assertLessEqual(sum(alive), compiled["arena"]["liveness_bound_bytes"])

    def test_equal_weights_are_stored_once(self) -> None:
        report = copy_of(REPORTS[1])
        (model,) = report["models"]
        model["weights"].append({**model["weights"][0], "name": "same"})
        data = [built(one)["models"][0]["weights"] for one in (REPORTS[1], report)]
        self.assertEqual(*data)

    def test_a_residual_is_read_twice(self) -> None:
        (model,) = built(REPORTS[1])["models"]
        (entry,) = model["entries"]
        readers = {way["writer"]: way["readers"] for way in entry["ways"]}
        # The first convolution's result goes through two more, and is added to theirs.
        self.assertEqual(readers[0], [1, 2])

    def test_modules(self) -> None:
        rows = [
            {"index": index, "layer": layer, "op": "op", "instructions": count}
            for index, (layer, count) in enumerate(
                [
                    ("a.b.c (Linear)", 1),
                    ("a.b.d (Linear)", 2),
                    ("net/e/Relu", 3),
                    ("", 4),
                    ("a.f", 0),
                ]
            )
        ]
        inner = [{"name": "c (Linear)", "command": 0}, {"name": "d (Linear)", "command": 1}]
        self.assertEqual(
            page_data.tree(rows)["children"],
            [
                {"name": "a / b", "children": inner},
                {"name": "net", "command": 2},
                {"name": page_data.NO_LAYER, "command": 3},
            ],
        )

    def test_warnings(self) -> None:
        (quiet,) = built(REPORTS[1])["models"]
        self.assertEqual(quiet["warnings"], [])
        report = copy_of(REPORTS[1])
        (model,) = report["models"]
        model["code"][model["commands"][0]["function"]]["vectorized"] = False
        model["commands"][1].update(kind="copy", function="")
        model["arena"]["bytes"] += 64
        (warned,) = built(report)["models"]
        scalar, copies, arena = warned["warnings"]
        self.assertRegex(scalar, r"^layer 'functional_1/re_lu_1/Relu' .* did not vectorize")
        self.assertRegex(copies, r"^1 copies: 35,072 bytes, [\d,]+ instructions$")
        self.assertEqual(arena, "the arena is 64 bytes above its liveness bound of 49,152")

    def test_what_int8_does_not_gain_is_a_warning(self) -> None:
        report = copy_of(REPORTS[1])
        report["models"][0]["int8"]["note"] = "int8 gains little over f32 here."
        (model,) = built(report)["models"]
        self.assertEqual(model["warnings"], ["int8 gains little over f32 here."])

    def test_a_library_is_shown_beside_the_kernel_that_there_would_be(self) -> None:
        (model,), (run,) = (
            built(DEVICE_REPORT)["models"],
            DEVICE_REPORT["run"]["models"],
        )
        details = dict(model["commands"][0]["details"])
        self.assertEqual(details["made by"], "matrix_unit_i8 of //examples/matrix_unit:matrix_unit")
        without = run["plain"]["commands"][0]["instructions"]
        self.assertEqual(details["without the library"], f"{without:,} instructions")
        self.assertEqual(details["devices busy"], f"{run['commands'][0]['busy']:,} cycles")
        for command_ in built(REPORTS[0])["models"][0]["commands"]:
            names = {name for name, _ in command_["details"]}
            self.assertTrue(names.isdisjoint({"without the library", "devices busy"}))

    def test_without_vectors_there_is_no_bound(self) -> None:
        report = copy_of(REPORTS[0])
        report["run"]["boot"]["vlen"] = "0"
        report["models"][0]["code"] = {}
        data = built(report)
        (model,) = data["models"]
        self.assertIsNone(model["roofs"])
        self.assertEqual({row["percent"] for row in model["layers"]}, {None})
        self.assertNotIn("Of the bound", [row["label"] for row in data["summary"]])


class CompareTest(unittest.TestCase):
    def test_what_differs_is_listed_with_what_grew_first(self) -> None:
        before = copy_of(REPORTS[1])
        rows = before["run"]["models"][0]["commands"]
        rows[0]["instructions"] += 10
        rows[1]["instructions"] -= 20
        before["ram_bytes"]["arena"] += 1
        tables = compare.differences(built(before), built(REPORTS[1]))
        changes = {
            t["title"]: [(r["name"], r["now"] - r["before"]) for r in t["rows"]] for t in tables
        }
        layers = [("functional_1/re_lu_1_2/Relu", 20), ("functional_1/re_lu_1/Relu", -10)]
        self.assertEqual(changes["resnet8_int8, instructions by layer"], layers)
        self.assertEqual(changes["RAM, bytes"], [("arena", -1)])
        self.assertEqual(changes["Flash, bytes"], [])

    def test_other_models_are_compared_as_well(self) -> None:
        tables = compare.differences(*map(built, REPORTS))
        (rows,) = [t["rows"] for t in tables if t["title"] == "resnet8_int8, instructions by layer"]
        (model,), (run,) = REPORTS[0]["models"], REPORTS[0]["run"]["models"]
        first = run["commands"][0]
        layer = model["commands"][first["index"]]["layer"]
        self.assertIn({"name": layer, "before": first["instructions"], "now": 0}, rows)


class TraceTest(unittest.TestCase):
    def test_commands_follow_each_other_at_an_instruction_per_nanosecond(self) -> None:
        made = trace.events(built(REPORTS[0]))
        self.assertEqual(made["metadata"]["clock"], "1 instruction = 1 ns")
        name, *slices = made["traceEvents"]
        self.assertEqual((name["ph"], name["args"]), ("M", {"name": "fixture"}))
        spent = [row["instructions"] for row in REPORTS[0]["run"]["models"][0]["commands"]]
        self.assertEqual([round(1000 * row["dur"]) for row in slices], spent)
        starts = [sum(spent[:index]) for index in range(len(spent))]
        self.assertEqual([round(1000 * row["ts"]) for row in slices], starts)


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "d3.js").write_text("// D3")
        where = mock.patch.dict(os.environ, {"BUILD_WORKING_DIRECTORY": folder.name})
        where.start()
        self.addCleanup(where.stop)

    def run_view(self, report: Path, *more: str) -> tuple[int, str, str]:
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            status = view.main(["--report", str(report), "--d3", str(self.folder / "d3.js"), *more])
        return status, out.getvalue(), err.getvalue()

    def test_it_writes_what_it_says_where_the_user_is(self) -> None:
        status, out, _ = self.run_view(PATHS[0].absolute(), "--trace", "run.json")
        page = self.folder / "fixture_rv64.html"
        self.assertEqual((status, out), (0, f"{page}\n{self.folder / 'run.json'}\n"))
        self.assertIn("// D3", page.read_text())
        self.assertIn("traceEvents", json.loads((self.folder / "run.json").read_text()))

    def test_names_do_not_end_the_script(self) -> None:
        report = copy_of(REPORTS[0])
        report["models"][0]["name"] = "</script><b>@@D3@@"
        (self.folder / "report.json").write_text(json.dumps(report))
        self.run_view(self.folder / "report.json", "--out", "page.html")
        text = (self.folder / "page.html").read_text()
        self.assertEqual(text.count("</script>"), 3)
        self.assertIn("\\u003c/script>\\u003cb>@@D3@@", text)

    def test_what_is_no_report_is_refused_in_a_sentence(self) -> None:
        old = copy_of(REPORTS[0])
        old["models"][0]["format_version"] = 3
        damaged = copy_of(REPORTS[0])
        del damaged["models"][0]["commands"][0]["layer"]
        without_run = copy_of(REPORTS[0])
        del without_run["run"]
        for text, message in (
            ("{", "is not JSON"),
            ("[]", "is not a report of an image with a run"),
            (json.dumps(without_run), "is not a report of an image with a run"),
            (
                json.dumps(damaged),
                "is no report of this Ironcast: models[0].commands[0].layer is missing",
            ),
            (json.dumps(old), f"has reports of format 3, not {FORMAT_VERSION}"),
            (None, "cannot be read: No such file"),
        ):
            other = self.folder / "other.json"
            other.unlink(missing_ok=True)
            if text is not None:
                other.write_text(text)
            status, out, err = self.run_view(PATHS[0].absolute(), "--against", "other.json")
            self.assertEqual((status, out, len(err.splitlines())), (1, "", 1))
            self.assertIn(message, err)

    def test_a_frontier_of_ram(self) -> None:
        """A file of X.memory is drawn if it is about the models of the page."""
        (name,) = (model["name"] for model in REPORTS[0]["models"])
        path = self.folder / "memory.json"
        for model, expected in ((name, 0), ("other", 1)):
            points = (blank(Point, ram=900, instructions=7), blank(Point, ram=500, instructions=8))
            save(path, Frontiers((Frontier(model, points, 1000),)))
            status, out, err = self.run_view(PATHS[0].absolute(), "--memory", "memory.json")
            self.assertEqual(status, expected, err)
            if not status:
                page = Path(out.strip()).read_text()
                self.assertRegex(page, '"ram":900.*"ram":500')
        self.assertIn("is about other, which this page does not show", err)
        path.write_text("{}")
        status, out, err = self.run_view(PATHS[0].absolute(), "--memory", "memory.json")
        self.assertEqual((status, out, len(err.splitlines())), (1, "", 1))

    def test_a_folder_that_is_not_there(self) -> None:
        status, _, err = self.run_view(PATHS[0].absolute(), "--out", "none/page.html")
        self.assertEqual(status, 1)
        self.assertIn("cannot be written", err)


if __name__ == "__main__":
    unittest.main()
