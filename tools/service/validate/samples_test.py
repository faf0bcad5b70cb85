"""The user's files: what fits, and what is refused with a sentence."""

from __future__ import annotations

import tempfile
import unittest
import warnings
import zipfile
from pathlib import Path

import numpy as np

from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from tools.cli import UserError
from tools.service.validate import samples

_IMAGE = TensorInfo("image", DType.F32, (1, 2, 3))
_STEP = TensorInfo("step", DType.I32, ())
_CODE = TensorInfo("code", DType.I8, (4,))


class SamplesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def saved(self, **arrays: object) -> Path:
        path = self.folder / f"{len(list(self.folder.iterdir()))}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    def test_arrays_are_found_by_name_or_in_order(self) -> None:
        image = np.arange(12, dtype=np.float64).reshape(2, 2, 3)
        step = np.array([5, 6])
        for path in (
            self.saved(step=step, image=image, labels=np.array([1, 0])),
            self.saved(a=image[:, None], b=step, labels=np.array([1, 0])),
        ):
            (found,), labels = samples.read_parts(path, [("main", (_IMAGE, _STEP))], False)
            np.testing.assert_array_equal(found[0], image.astype(np.float32)[:, None, None])
            self.assertEqual(found[0].dtype, np.float32)
            np.testing.assert_array_equal(found[1], step[:, None])
            self.assertEqual(found[1].dtype, np.int32)
            self.assertEqual(labels is not None and labels.tolist(), [1, 0])

    def test_npy_is_the_only_input(self) -> None:
        path = self.folder / "x.npy"
        np.save(path, np.ones((5, 2, 3), np.float32))
        (found,), labels = samples.read_parts(path, [("main", (_IMAGE,))], False)
        self.assertEqual((found[0].shape, labels), ((5, 1, 1, 2, 3), None))

    def test_sequences_of_several_entry_points(self) -> None:
        parts = [("fill", (_CODE,)), ("step", (_IMAGE, _STEP))]
        image, step = np.ones((5, 3, 2, 3), np.float32), np.ones((5, 3), np.int32)
        code = np.ones((5, 2, 4), np.int8)
        path = self.saved(**{"step.image": image, "step.step": step, "fill.code": code})
        ((found,), both), _ = samples.read_parts(path, parts, True)
        self.assertEqual((found.shape, both[0].shape), ((5, 2, 4), (5, 3, 1, 2, 3)))
        for arrays, message in (
            ({"step.image": image, "step.step": step[:, :2], "fill.code": code}, "2 and 3 steps"),
            ({"step.image": image, "step.step": step, "fill.code": code[:4]}, "4 and 5 samples"),
            ({"image": image, "step": step, "code": code}, "has the arrays none"),
        ):
            with self.subTest(message), self.assertRaisesRegex(UserError, message):
                samples.read_parts(self.saved(**arrays), parts, True)
        with self.assertRaisesRegex(UserError, "axes count samples and steps"):
            samples.read_parts(self.saved(code=code[:, 0]), [("fill", (_CODE,))], True)

    def test_floats_for_integers_are_left_to_the_framework(self) -> None:
        (found,), _ = samples.read_parts(
            self.saved(code=np.ones((2, 4))), [("main", (_CODE,))], False
        )
        self.assertEqual(found[0].dtype, np.float64)

    def test_what_does_not_fit_is_refused(self) -> None:
        text = self.folder / "x.txt"
        text.write_text("1 2 3")
        image = np.ones((2, 2, 3), np.float32)
        cases: list[tuple[Path, str]] = [
            (text, "cannot be read"),
            (self.folder / "none.npz", "cannot be read"),
            (self.saved(), "has the arrays none"),
            (self.saved(image=image, more=image, third=image), "has the arrays image, more, third"),
            (self.saved(image=image, step=np.array([1])), "has 1 and 2 samples"),
            (self.saved(image=image[:0], step=np.array([], np.int32)), "has 0 samples"),
            (self.saved(image=image[:, 0], step=np.array([1, 2])), "is 2x3xfloat32, and the model"),
            (self.saved(image=image.astype(np.uint8), step=np.array([1, 2])), "is uint8"),
            (self.saved(image=image, step=np.array([1, 2**40])), "is int64"),
            (
                self.saved(image=image, step=np.array([1, 2]), labels=np.array([1])),
                "integers, the class of each",
            ),
            (
                self.saved(image=image, step=np.array([1, 2]), labels=np.array([0.5, 1])),
                "integers, the class of each",
            ),
        ]
        for path, message in cases:
            with self.subTest(message), self.assertRaisesRegex(UserError, message):
                samples.read_parts(path, [("main", (_IMAGE, _STEP))], False)

    def test_pickled_objects_are_not_executed(self) -> None:
        path = self.folder / "x.npy"
        np.save(path, np.array([object()]), allow_pickle=True)
        with self.assertRaisesRegex(
            UserError, r"cannot be read \(it has Python objects, or nothing of"
        ):
            samples.read_parts(path, [("main", (_IMAGE,))], False)
        # NumPy repeats a number of 5,000 digits.
        header = (
            f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({'9' * 5000},), }}\n".encode()
        )
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        with self.assertRaisesRegex(UserError, r"^.{,400}$"):
            samples.read_parts(path, [("main", (_IMAGE,))], False)

    def test_doubles_too_large_for_floats_are_infinite(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            path = self.saved(image=np.full((4, 2, 3), 1e300))
            found = samples.read_parts(path, [("main", (_IMAGE,))], False)
        self.assertTrue(np.isinf(found[0]).all())

    def test_labels_of_their_own(self) -> None:
        path = self.folder / "labels.npy"
        np.save(path, np.array([3, 1]))
        self.assertEqual(samples.read_labels(path, 2).tolist(), [3, 1])
        with self.assertRaisesRegex(UserError, "there are 3 samples"):
            samples.read_labels(path, 3)

    def test_a_label_has_a_score(self) -> None:
        scores = TensorInfo("scores", DType.I8, (1, 4))
        found = samples.check_classes(np.array([0, 3], np.uint64), scores)
        self.assertEqual((found.dtype, found.tolist()), (np.int64, [0, 3]))
        for label, dtype in ((-1, np.int8), (4, np.int64), (2**63, np.uint64), (10**12, np.int64)):
            with self.assertRaisesRegex(
                UserError, f"of sample 1 is {label}, and .* classes 0 to 3"
            ):
                samples.check_classes(np.array([2, label], dtype), scores)
        for shape in ((), (1,), (2, 4)):
            with self.assertRaisesRegex(UserError, "not a score for each class"):
                samples.check_classes(np.array([0]), TensorInfo("y", DType.F32, shape))

    def test_files_that_claim_what_they_have_not(self) -> None:
        text = self.folder / "text.npz"
        with zipfile.ZipFile(text, "w") as archive:
            archive.writestr("labels", "1 2 3")
        huge = self.folder / "huge.npy"
        with huge.open("wb") as file:
            header = {"descr": "<i8", "fortran_order": False, "shape": (10**12,)}
            np.lib.format.write_array_header_1_0(file, header)
        for path, message in ((text, "labels in .* is no array"), (huge, "cannot be read")):
            with self.assertRaisesRegex(UserError, message):
                samples.read_labels(path, 3)


if __name__ == "__main__":
    unittest.main()
