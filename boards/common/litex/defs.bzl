"""What is now //boards/gates:defs.bzl; until version 1.0."""

load("//boards/gates:defs.bzl", _litex_board = "litex_board")

litex_board = _litex_board
