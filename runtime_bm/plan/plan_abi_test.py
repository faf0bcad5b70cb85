"""A plan's layout as data: what a change of it takes, and what is read of a small source."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from runtime_bm.plan import plan_abi

_CLANG = Path(os.environ["CLANG"])
_FILE = Path(__file__).with_name("plan_abi.json")
# BM_PLAN_ABI_VERSION -> sha256 of plan_abi.json: a plan and the runtime that reads it may be flashed apart from each
# other, so versions keep their layout.
_DIGESTS = {
    6: "b03dfcd61683d1eeeb5e78954554999410592c5d0608c5f18579aff4a474fc56",
    7: "003e9a8849ff2782e8e62360357d2ad5292a29e3276263884d68927236307d46",
    8: "51d11e1c730d8cbdf309157dcf1efddf882ffd08e320d3983bf0d9e698170399",
}

_SOURCE = """
enum { BM_PLAN_ABI_VERSION = 1 };
enum { BM_DTYPE_BOOL = 1 }; enum { BM_ISA_RV64 = 1 }; enum { BM_PLAN_ACCESS_READ = 1 };
enum { BM_PLAN_REGION_ARENA = 0, BM_PLAN_REGION_COUNT = 1 };
enum { BM_COMMAND_DISPATCH = 0 }; enum { BM_COMMAND_BARRIER = 1 };
enum { ALIGNMENT = 64, NO_DRIVER = 0xFFFFFFFFu }; enum { BM_GOLDEN_EXACT = 0 };
typedef unsigned int word_t;
typedef struct bm_check_t { unsigned char first; const word_t words[2][3]; } bm_check_t;
enum { bm_check_t_bytes_32 = 28 };
typedef struct bm_plan_t { const bm_check_t *check; bm_check_t own; void (*wait)(void); } bm_plan_t;
enum { bm_plan_t_bytes_32 = 36 };
struct bm_plan_unsized_t { int field; };
"""


class PlanAbiTest(unittest.TestCase):
    def layout(self, source: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "source.c")
            path.write_text(source)
            return plan_abi.layout(_CLANG, path)

    def test_another_layout_has_another_version(self) -> None:
        text = _FILE.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        self.assertEqual(
            digest,
            _DIGESTS.get(json.loads(text)["version"]),
            "the layout of plans has changed: raise BM_PLAN_ABI_VERSION and add its digest here",
        )

    def test_structs(self) -> None:
        structs = self.layout(_SOURCE)["structs"]
        check = {
            "bytes": 28,
            "bytes_32": 28,
            "fields": {"first": {"offset": 0, "bytes": 1}, "words": {"offset": 4, "bytes": 24}},
        }
        plan = {
            "bytes": 48,
            "bytes_32": 36,
            "fields": {
                "check": {"offset": 0, "bytes": 8},
                "own": {"offset": 8, "bytes": 28},
                "wait": {"offset": 40, "bytes": 8},
            },
        }
        self.assertEqual(structs, {"bm_plan_t": plan, "bm_check_t": check})
        self.assertEqual(list(structs), ["bm_plan_t", "bm_check_t"])

    def test_enumerations(self) -> None:
        enums = self.layout(_SOURCE)["enums"]
        self.assertEqual(enums["region"], {"ARENA": 0})
        self.assertEqual(enums["command_flags"], {"BARRIER": 1})
        self.assertEqual(enums["limits"], {"ALIGNMENT": 64, "NO_DRIVER": 0xFFFFFFFF})

    def test_each_change_shows(self) -> None:
        before = plan_abi.text(self.layout(_SOURCE))
        for old, new in (
            ("VERSION = 1", "VERSION = 2"),
            ("BARRIER = 1", "BARRIER = 2"),
            ("ARENA = 0,", "ARENA = 0, BM_PLAN_REGION_MORE = 3,"),
            (
                "const bm_check_t *check; bm_check_t own;",
                "bm_check_t own; const bm_check_t *check;",
            ),
            ("words[2][3]", "words[3][2]; word_t more"),
            ("*check", "*other"),
            ("int word_t", "short word_t"),
            ("check_t_bytes_32 = 28", "check_t_bytes_32 = 32"),
        ):
            self.assertIn(old, _SOURCE)
            after = plan_abi.text(self.layout(_SOURCE.replace(old, new)))
            self.assertNotEqual(before, after, new)

    def test_what_is_missing_is_said(self) -> None:
        for old, said in (
            ("BM_COMMAND_BARRIER", "begins with BM_COMMAND_BARRIER"),
            ("BM_PLAN_ABI_", "no BM_PLAN_ABI_V"),
        ):
            with self.assertRaisesRegex(plan_abi.AbiError, said):
                self.layout(_SOURCE.replace(old, "OTHER_"))


if __name__ == "__main__":
    unittest.main()
