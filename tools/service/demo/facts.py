"""What a page says about the image: its model, and what it takes, from the image's report."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def facts(report: Json, board: str, port: str) -> Json:
    """Returns the name of the model, where it runs, and a list of `label`, `value` and `note`.

    Args:
      report: of an image with a run, of which the first model is shown.
      board: the board whose firmware runs.
      port: serial port of that board, or empty for an emulator.
    """
    model, run = report["models"][0], report["run"]["models"][0]
    flash, ram = report["flash_bytes"], report["ram_bytes"]
    same = board == report["board"] and not port
    # What the report's image takes may differ on another board.
    on = "" if same else f" on {report['board']}"
    rows = [
        ("Model", model["name"], f"from {model['frontend']}, {model['parameters']:,} parameters"),
        ("Compiled for", model["isa"], "with the stock IREE compiler"),
        (f"Instructions{on}", f"{run['instructions']:,}", _share(model, run)),
        (
            f"Flash{on}",
            _bytes(flash["total"] - flash["golden"]),
            f"{_bytes(flash['weights'])} of it weights",
        ),
        (
            f"RAM{on}",
            _bytes(ram["total"]),
            f"arena {_bytes(ram['arena'])}{_state(ram)}, reserved for the stack"
            f" {_bytes(ram['stack'])}, of which a run used {_bytes(report['run']['stack_bytes'])}",
        ),
        _checked(model, run),
    ]
    where = f"on the board at {port}" if port else f"in an emulator, {board}"
    vlen = int(report["run"]["boot"]["vlen"])
    return {
        "name": model["name"],
        "where": f"{where}, VLEN {vlen}" if same and vlen else where,
        "rows": [{"label": label, "value": value, "note": note} for label, value, note in rows],
    }


def _checked(model: Json, run: Json) -> tuple[str, str, str]:
    """What the self-check found on the model's own cases."""
    frontend = model["frontend"]
    accuracy = run["accuracy"]
    if accuracy:
        return (
            "Right answers",
            f"{accuracy['correct']} of {accuracy['total']}",
            f"{accuracy['framework']} in {frontend}",
        )
    return ("Largest difference", f"{run['max_abs']:.1e}", f"from what {frontend} computes")


def _share(model: Json, run: Json) -> str:
    *names, last = [entry["name"] for entry in model["entries"]]
    what = f"{', '.join(names)} and {last} once" if names else "an inference"
    macs = sum(model["macs"].values())
    return f"{what}; {run['instructions'] / macs:.2f} for each multiply-add" if macs else what


def _state(ram: Json) -> str:
    return f", state {_bytes(ram['state'])}" if ram["state"] else ""


def _bytes(count: int) -> str:
    if count < 10_000:
        return f"{count:,} B"
    return f"{count / 1000:,.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"
