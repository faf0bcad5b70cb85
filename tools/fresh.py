"""Runs `python3 -m tools.dev.fresh_machine`, which had this name; until version 1.0."""

import runpy

if __name__ == "__main__":
    runpy.run_module("tools.dev.fresh_machine", run_name="__main__")
