"""Mistakes of users, and the last line that each of them ends in."""

from __future__ import annotations

from dataclasses import dataclass

_LOADS = """load("@ironcast//tools/rules:defs.bzl", "bm_board", "bm_firmware", "bm_model")
load("@pypi//:requirements.bzl", "requirement")
load("@rules_cc//cc:defs.bzl", "cc_library")
"""
_MLIR = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = arith.negf %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
"""
_FIRMWARE = 'bm_firmware(name = "firmware", models = [":m"], board = "//boards/sensor_node", isa = "{isa}")\n'
_MODEL = 'bm_model(name = "m", src = "bands.mlir", cases = "cases.py", cases_function = "frames")\n'


@dataclass(frozen=True)
class Mistake:
    """A command that fails.

    Attributes:
      arguments: of tools/bazel.
      last_line: what it ends in.
      build: BUILD.bazel of the package //mistake, "" for none.
      files: name -> content, beside it.
    """

    arguments: tuple[str, ...]
    last_line: str
    build: str = ""
    files: tuple[tuple[str, str], ...] = ()


def _in_package(build: str, last_line: str, target: str = "m", **files: str) -> Mistake:
    named = tuple((name.replace("__", "."), text) for name, text in files.items())
    return Mistake(("build", f"//mistake:{target}"), last_line, _LOADS + build, named)


MISTAKES = (
    Mistake(("build", "//bands:band"), "there is no target //bands:band (did you mean bands?)"),
    Mistake(
        ("build", "//band:bands"),
        "there is no package //band: no such folder has a BUILD.bazel (did you mean //bands?)",
    ),
    Mistake(
        ("build", "@pypi//torchh"),
        "there is no package @pypi//torchh: no such folder of that repository has a BUILD.bazel",
    ),
    Mistake(("run", "//bands"), "//bands:bands is nothing to run: run //bands:bands_rv64"),
    Mistake(
        ("build", "//bands:bands_rv64.flash", "--board=//boards/sensor_nod"),
        "there is no package //boards/sensor_nod: no such folder has a BUILD.bazel "
        "(did you mean //boards/sensor_node?)",
    ),
    Mistake(
        ("test", "//bands"),
        "ironcast: none of these targets is a test: `tools/bazel query 'tests(//...)'` lists all tests.",
    ),
    Mistake(
        ("build", "--config=debug", "//bands"),
        "Config value 'debug' is not defined in any .rc file",
    ),
    Mistake(
        ("build", "--isa=rv64gc", "//bands"), "--isa=rv64gc :: Unrecognized option: --isa=rv64gc"
    ),
    _in_package(
        _MODEL + _FIRMWARE.format(isa="rv64gcv_zvl265b"),
        "(did you mean rv64gcv_zvl256b?)",
        target="firmware",
    ),
    _in_package(
        _MODEL.replace("cases_function", "cases_functoin"),
        "mistake/BUILD.bazel:4: //mistake:m: no such attribute 'cases_functoin' in 'bm_import' rule "
        "(did you mean 'cases_function'?)",
    ),
    _in_package(
        'bm_modle(name = "m")',
        "mistake/BUILD.bazel:4: name 'bm_modle' is not defined (did you mean 'bm_model'?)",
    ),
    _in_package(
        _MODEL.replace(")\n", 'deps = [requirement("pytorch")])\n').replace(
            '"frames"', '"frames", '
        ),
        "mistake/BUILD.bazel:4: pytorch is not locked: add it to requirements.txt, then run @ironcast//:lock",
    ),
    _in_package(
        _MODEL.replace(")\n", "\n") + 'exports_files(["x"])\n',
        "mistake/BUILD.bazel:5: syntax error at 'exports_files': expected ,",
    ),
    _in_package(
        _MODEL,
        "missing input file '//mistake:cases.py' (did you mean case.py?)",
        case__py="",
        bands__mlir="",
    ),
    _in_package(
        _MODEL,
        "bmc: error[bad-source]: 'cases.py' has no function 'frames'",
        cases__py="",
        bands__mlir=_MLIR,
    ),
    _in_package(
        _MODEL,
        'hint: pip install scipy; in a BUILD file, deps = [requirement("scipy")]',
        cases__py="import scipy.signal\n",
        bands__mlir=_MLIR,
    ),
    _in_package(
        'bm_board(name = "m", isa = "rv64gc", memory = {"ram": "0x80000000, 16M"}, stack_bytes = 4096)',
        "mistake/BUILD.bazel:4: bm_board m: set `console` and `exit` to drivers of boards/common/drivers.bzl, or "
        "`hal` to a cc_library of your own",
    ),
    _in_package(
        'bm_board(name = "m", isa = "rv64gc", memory = {"ram": "0x80000000, 16MB"}, stack_bytes = 4096, hal = ":h")',
        'bm_board m: the memory ram cannot be "0x80000000, 16MB": write its origin and its size, as in '
        '"0x80000000, 16M", and behind them `weights`, `arena` or `fast` if it is for nothing else',
    ),
    _in_package(
        'cc_library(name = "m", srcs = ["m.c"])',
        "1 error generated.",
        m__c="int answer(void) { return nothing; }\n",
    ),
)
