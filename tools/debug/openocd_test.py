"""gdb on Spike, with OpenOCD between them."""

from __future__ import annotations

import os
import subprocess
import unittest


class OpenOcdTest(unittest.TestCase):
    def test_the_first_dispatch_has_a_name_and_callers(self) -> None:
        done = subprocess.run(
            [os.environ["DEBUG"], "--batch"], capture_output=True, text=True, timeout=240
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Before command 0: main_dispatch_0_", done.stdout)
        self.assertRegex(done.stdout, r"#0 .*mlp_k_main_dispatch_0_\w+ \(\)")
        self.assertRegex(done.stdout, r"#\d .*bm_model_run \(")


if __name__ == "__main__":
    unittest.main()
