"""Which measurements names stand for; Bazel's answers are given."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.cli import UserError
from tools.report.bench import builds

LABELS = [
    f"//models/{folder}:{image}.bench{vlen}"
    for folder, image in (("mlp", "mlp_rv64"), ("mlp", "mlp_int8_rv64"), ("net", "net"))
    for vlen in (128, 256)
]
OTHER_CORE = [
    "//models/mlp:mlp_rv64.bench256.spacemit-x60",
    "//models/net:net.bench256.spacemit-x60",
]


def benches(*names: str, vlens: tuple[int, ...] = (256,), core: str = "sifive-x280") -> list[str]:
    with mock.patch.object(builds, "query", lambda expression: LABELS + OTHER_CORE):
        return builds.benches(names, vlens, core)


class BenchesTest(unittest.TestCase):
    def test_labels_and_short_names(self) -> None:
        wanted = ["//models/mlp:mlp_rv64.bench256"]
        for name in ("mlp", "mlp_rv64", "//models/mlp:mlp_rv64", "//models:mlp_rv64"):
            self.assertEqual(benches(name), wanted)
        self.assertEqual(benches("net", "mlp"), ["//models/net:net.bench256", *wanted])

    def test_every_vlen_that_is_asked_for(self) -> None:
        found = benches("net", vlens=(128, 256))
        self.assertEqual(found, ["//models/net:net.bench128", "//models/net:net.bench256"])
        self.assertEqual(len(benches(vlens=(128, 256))), len(LABELS))

    def test_names_that_mean_nothing(self) -> None:
        with self.assertRaisesRegex(UserError, "no model 'nest'; there are mlp, mlp_int8, net"):
            benches("nest")
        with self.assertRaisesRegex(UserError, "no model has kernels for VLEN 512"):
            benches(vlens=(256, 512))

    def test_another_core(self) -> None:
        self.assertEqual(benches("net", core="spacemit-x60"), OTHER_CORE[1:])
        self.assertEqual(benches("//models/mlp:mlp_rv64", core="spacemit-x60"), OTHER_CORE[:1])
        self.assertEqual(benches(core="spacemit-x60"), OTHER_CORE)

    def test_cores_and_their_vlens_that_there_are(self) -> None:
        with self.assertRaisesRegex(
            UserError, "no model of a core 'x61'; there are sifive-x280, spacemit-x60$"
        ):
            benches("net", core="x61")
        with self.assertRaisesRegex(UserError, "VLEN 128 and a core 'spacemit-x60': use 256$"):
            benches(vlens=(256, 128), core="spacemit-x60")

    def test_images_on_cores(self) -> None:
        large = "//models/bert_tiny:bert_tiny_rv64"
        # One has no vectors, so nothing is known of its cycles.
        held = ["//models/mlp:mlp_rv64_baseline_test", "//models/mlp:mlp_rv32_baseline_test"]

        def query(expression: str) -> list[str]:
            if "baseline" in expression:
                return held
            small = [*LABELS, *OTHER_CORE]
            return small if "large" in expression else [*small, f"{large}.bench256"]

        with mock.patch.object(builds, "query", query):
            self.assertEqual(builds.on_cores(["net"]), ["//models/net:net.cores"])
            self.assertEqual(builds.on_cores([]), [f"{large}.cores", "//models/mlp:mlp_rv64.cores"])
            with self.assertRaisesRegex(UserError, "no model 'nest'"):
                builds.on_cores(["nest"])

    def test_images_for_several_harts(self) -> None:
        reports = ["//models/mlp:mlp_rv64.harts2.report", "//models/mlp:mlp_rv64.harts4.report"]

        def query(expression: str) -> list[str]:
            return reports if "harts" in expression else LABELS

        with mock.patch.object(builds, "query", query):
            (found,) = builds.on_harts(["mlp"], [1, 4])
            self.assertEqual(found, {1: "//models/mlp:mlp_rv64.report", 4: reports[1]})
            with self.assertRaisesRegex(
                UserError, "mlp_rv64 has no image for 3 harts; it has them for 1, 2, 4$"
            ):
                builds.on_harts(["mlp"], [2, 3])


class ResultsTest(unittest.TestCase):
    def results(self, *targets: str) -> dict[str, tuple[dict[str, str], ...]]:
        """Returns the results of targets that are, whatever they are called, the first of LABELS."""
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "rows.json").write_text(json.dumps([{"name": "mlp"}]))
        said = {"build": "", "cquery": f"@@{LABELS[0]} rows.json\n", "info": f"{root}\n"}

        def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
            return subprocess.CompletedProcess(argv, 0, said[argv[1]])

        with (
            mock.patch.object(subprocess, "run", run),
            mock.patch.dict(os.environ, BUILD_WORKSPACE_DIRECTORY=str(root)),
        ):
            return builds.results(targets, tuple[dict[str, str], ...])

    def test_rows_by_label(self) -> None:
        self.assertEqual(self.results(LABELS[0]), {LABELS[0]: ({"name": "mlp"},)})

    def test_another_name_of_a_target_is_a_sentence(self) -> None:
        with self.assertRaisesRegex(
            UserError,
            "^//models:mlp_rv64.report is another name of a target: use the target's own label$",
        ):
            self.results("//models:mlp_rv64.report")


if __name__ == "__main__":
    unittest.main()
