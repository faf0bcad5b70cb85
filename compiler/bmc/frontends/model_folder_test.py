"""Tests which files beside a model may be read."""

from __future__ import annotations

import os
import unittest

import support

from bmc.frontends import model_folder


class ModelFolderTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.inside = self.folder / "inside"
        (self.inside / "parts").mkdir(parents=True)
        self.model = self.inside / "model.onnx"
        for path in (self.model, self.inside / "weights.bin", self.inside / "parts" / "a.bin"):
            path.write_text("data", encoding="utf-8")
        self.write("secret", "secret")

    def test_files_beside_the_model(self) -> None:
        for name in ("weights.bin", "parts/a.bin", "./weights.bin"):
            self.assertTrue(model_folder.find(self.model, name).samefile(self.inside / name))

    def test_a_file_that_is_missing(self) -> None:
        for name in ("other.bin", "parts"):
            self.refuses(
                "file-missing",
                f"'{name}'",
                "bm_model(data",
                call=lambda n=name: model_folder.find(self.model, n),
            )

    def test_what_has_no_end(self) -> None:
        os.mkfifo(self.inside / "pipe")
        (self.inside / "zero").symlink_to("/dev/zero")
        for name in ("pipe", "zero"):
            self.refuses(
                "unsafe-file",
                f"'{name}', which is no ordinary file",
                "put one there",
                call=lambda n=name: model_folder.find(self.model, n),
            )

    def test_paths_to_elsewhere(self) -> None:
        for name in (
            "../secret",
            "parts/../../secret",
            "parts/../weights.bin",
            str(self.folder / "secret"),
            f"/{self.folder / 'secret'}",
            "..\\secret",
            "a\0b",
            "",
        ):
            self.refuses(
                "unsafe-file",
                "outside its own folder",
                call=lambda n=name: model_folder.find(self.model, n),
            )

    def test_links_to_elsewhere(self) -> None:
        (self.inside / "file").symlink_to(self.folder / "secret")
        (self.inside / "folder").symlink_to(self.folder)
        for name in ("file", "folder/secret"):
            self.refuses(
                "unsafe-file", f"'{name}'", call=lambda n=name: model_folder.find(self.model, n)
            )

    def test_links_into_one_folder_as_in_a_sandbox(self) -> None:
        sandbox = self.folder / "sandbox"
        sandbox.mkdir()
        for name in ("model.onnx", "weights.bin"):
            (sandbox / name).symlink_to(self.inside / name)
        found = model_folder.find(sandbox / "model.onnx", "weights.bin")
        self.assertTrue(found.samefile(self.inside / "weights.bin"))


if __name__ == "__main__":
    unittest.main()
