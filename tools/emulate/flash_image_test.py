import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from tools.emulate import flash_image

BOARD = {"name": "b", "flash": {"methods": {"pflash": {"size": "0x10"}}}}


class FlashImageTest(unittest.TestCase):
    def run_main(self, image: bytes, board: object = BOARD) -> tuple[int, str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            raw, description, out = (Path(folder) / name for name in ("x.bin", "b.json", "x.flash"))
            raw.write_bytes(image)
            description.write_text(json.dumps(board))
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                status = flash_image.main(
                    ["--board", str(description), "--image", str(raw), "--out", str(out)]
                )
            return status, said.getvalue(), out.read_bytes() if out.exists() else b""

    def test_fills_up_as_erased(self) -> None:
        self.assertEqual(self.run_main(b"abc"), (0, "", b"abc" + b"\xff" * 13))

    def test_exactly_full(self) -> None:
        self.assertEqual(self.run_main(b"x" * 16), (0, "", b"x" * 16))

    def test_too_large_is_refused(self) -> None:
        status, said, out = self.run_main(b"x" * 17)
        self.assertEqual((status, out), (1, b""))
        self.assertIn("the image has 17 bytes and the flash 16", said)

    def test_board_without_flash_is_refused(self) -> None:
        status, said, _ = self.run_main(b"x", {"name": "none"})
        self.assertEqual(status, 1)
        self.assertIn("board.json of none gives no size", said)


if __name__ == "__main__":
    unittest.main()
