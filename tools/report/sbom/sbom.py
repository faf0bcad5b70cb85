"""Writes what is in an image, and what it was built with, as a CycloneDX document.

example:
  tools/bazel build //models:mlp_rv64.sbom
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tools import cli
from tools.report.files import load
from tools.report.report import Image
from tools.report.sbom import document, parts


@cli.program("sbom", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--name", required=True, help="the image's name")
    parser.add_argument("--elf", type=Path, required=True, help="the image")
    parser.add_argument("--map", type=Path, required=True, help="its link map")
    parser.add_argument("--report", type=Path, required=True, help="its report.json")
    parser.add_argument("--package", action="append", default=[], help="Python package in use")
    parser.add_argument("--table", type=Path, required=True, help="Ironcast's versions.bzl")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    report = load(options.report, Image)
    ironcast = options.table.absolute().parents[1]
    components = [
        document.runtime(report.models[0].versions["ironcast"]),
        *map(document.model, report.models),
        *map(document.part, parts.python(ironcast, options.package)),
        *map(document.part, parts.debian(ironcast, options.map.read_text(encoding="utf-8"))),
    ]
    sha256 = hashlib.sha256(options.elf.read_bytes()).hexdigest()
    whole = document.image(options.name, sha256, report)
    options.out.write_text(document.text(whole, components), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
