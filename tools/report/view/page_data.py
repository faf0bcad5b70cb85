"""What a page shows, made of an image's report: plain JSON, so that the page's scripts only draw.

Bytes, instructions and multiply-accumulates are counts; commands are named by their index in the plan.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from bmc import records
from bmc.report import FORMAT_VERSION, Dispatch, Model, Operand
from tools.cli import UserError
from tools.report.bench import audit, bound
from tools.report.files import load, read_json
from tools.report.harts import efficiency
from tools.report.memory.points import Frontiers
from tools.report.report import Flash, Harts, Image, Inference, Ram, Ran
from tools.report.rows import Row, rows
from tools.report.view import tensors

NO_LAYER = "(no layer)"
_COPY = "copy with a layout"

Json = dict[str, Any]


def read(path: Path) -> Image:
    """Returns the report in a file; raises UserError unless it is that of an image with a run."""
    data = read_json(path)
    models = data.get("models") if isinstance(data, dict) else None
    if not models or not data.get("run"):
        raise UserError(
            f"{path} is not a report of an image with a run: name a file that `X.report` makes"
        )
    for model in models:
        version = model.get("format_version") if isinstance(model, dict) else None
        if version != FORMAT_VERSION:
            raise UserError(
                f"{path} has reports of format {version}, not {FORMAT_VERSION}: build it again with this Ironcast"
            )
    return load(path, Image)


def write(path: Path, text: str) -> None:
    """Writes a file and prints its path; raises UserError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    print(path)


def build(report: Image) -> Json:
    """Returns the page's data, given the report of an image with a run."""
    run = report.recorded
    models = [_model(model, measured, run.vlen) for model, measured in report.inferences]
    names = ", ".join(model["name"] for model in models)
    return {
        "title": f"{names} ({report.models[0].isa}) on {report.board}",
        "summary": _summary(report, models, run.vlen),
        "flash": _parts(report.flash_bytes),
        "ram": _parts(report.ram_bytes),
        "memory": records.encode(report.memory),
        "stack_bytes": run.stack_bytes,
        "models": models,
    }


def add_frontiers(data: Json, path: Path) -> None:
    """Gives the models of a page the points in a file of `X.memory`.

    Raises:
      UserError: it is no such file, or none of its models is on the page.
    """
    found = {each.model: each.points for each in load(path, Frontiers).models}
    models = [model for model in data["models"] if model["name"] in found]
    if not models:
        raise UserError(
            f"{path} is about {', '.join(found)}, which this page does not show: name a file that `X.memory` makes"
            " of the same models"
        )
    for model in models:
        model["frontier"] = records.encode(found[model["name"]])


def _parts(sizes: Flash | Ram) -> list[Json]:
    parts = [{"name": name, "bytes": n} for name, n in vars(sizes).items() if n and name != "total"]
    return sorted(parts, key=lambda part: -part["bytes"])


def _summary(report: Image, models: list[Json], vlen: int) -> list[Json]:
    flash, ram = report.flash_bytes, report.ram_bytes
    # Without the part of the stack that no call has reached.
    used = ram.total - ram.stack + report.recorded.stack_bytes
    instructions = sum(model["instructions"] for model in models)
    macs = sum(model["macs"] for model in models)
    path = "on the critical path " if any(model["harts"] for model in models) else ""
    rows = [
        ("Flash", f"{flash.total:,}", f"bytes, {flash.golden:,} of them for the self-check"),
        (
            "RAM",
            f"{ram.total:,}",
            f"bytes, {ram.arena:,} of them the arena; {used:,} are used",
        ),
        ("Instructions", f"{instructions:,}", f"{path}in one inference at VLEN {vlen}"),
        (
            "Per multiply-accumulate",
            f"{instructions / macs:.3f}" if macs else "-",
            f"{path}of {macs:,}" if path else f"{macs:,} of these",
        ),
    ]
    if vlen:
        percent = _percent(
            sum(model["bound"] for model in models), sum(m["counted"] for m in models)
        )
        rows.append(
            ("Of the bound", f"{percent:.0f} %", "the fewest possible instructions by those taken")
        )
    return [{"label": label, "value": value, "note": note} for label, value, note in rows]


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 100.0


def _model(model: Model, measured: Inference, vlen: int) -> Json:
    commands = [_command(model, row, vlen) for row in rows(model, measured)]
    return {
        "name": model.name,
        "instructions": measured.instructions,
        "counted": sum(command["instructions"] for command in commands),
        "bound": sum(command["bound"] or 0 for command in commands),
        # Of all entry points that ran.
        "macs": sum(command["macs"] for command in commands),
        "arena": {"bytes": model.arena.bytes, "bound": model.arena.liveness_bound_bytes},
        "fast": model.fast_bytes,
        "commands": commands,
        "harts": _harts(measured.harts, commands),
        "entries": [tensors.of_entry(model, entry) for entry in model.entries],
        "layers": layers(commands),
        "tree": tree(commands),
        "roofs": _roofs(model, vlen),
        "weights": _weights(model),
        "warnings": _warnings(model, commands),
        "facts": _facts(model),
    }


def _harts(harts: Harts | None, commands: list[Json]) -> Json | None:
    """Returns what each hart does, with the place of every stretch between barriers on the critical path."""
    if not harts:
        return None
    begin, stretches = 0, []
    for stretch in harts.stretches:
        those = [commands[index] for index in stretch.commands]
        longest = max(stretch.work)
        name = ", ".join(command["layer"] or command["op"] for command in those)
        place = {"begin": begin, "longest": longest, "name": name}
        stretches.append({**records.encode(stretch), **place})
        begin += longest + stretch.barrier
    percent = 100 * efficiency(harts)
    return {**records.encode(harts), "percent": percent, "stretches": stretches}


def _command(model: Model, row: Row, vlen: int) -> Json:
    least = row.ran.times * bound.of_command(row.command, row.dispatch, vlen) if vlen else None
    size = bound.operand_bytes(row.dispatch) if row.dispatch else row.command.bytes
    return {
        "index": row.index,
        "kind": row.command.kind,
        "class": bound.class_of(row.command, row.dispatch),
        "op": row.op,
        "layer": row.command.layer,
        "instructions": row.ran.instructions,
        "times": row.ran.times,
        "bound": least,
        "percent": _percent(least, row.ran.instructions) if least is not None else None,
        "bytes": row.ran.times * size,
        "macs": row.macs,
        **_kernel(model, row.dispatch, row),
    }


def _kernel(model: Model, dispatch: Dispatch | None, row: Row) -> Json:
    """Returns what a click on a command shows of its kernel."""
    if not dispatch:
        return {"function": "", "details": [], "hot_loop": []}
    code = (model.code or {}).get(dispatch.name)
    maker = "bmc's own kernel" if dispatch.own_kernel else "IREE's kernel"
    without = f"{row.plain.instructions:,} instructions" if row.call and row.plain else ""
    details = [
        ("source", dispatch.source),
        ("made by", str(row.call or maker)),
        ("without the library", without),
        ("cycles", _cycles(row.ran)),
        ("devices busy", f"{row.ran.busy:,} cycles" if row.ran.busy else ""),
        *((f"operand {operand.binding}", _operand(operand)) for operand in dispatch.operands),
        *(
            (f"tiles, {level}", "x".join(map(str, sizes)))
            for level, sizes in dispatch.tiles.items()
        ),
        ("tiles chosen by", dispatch.tiles_by),
        ("vector spills", f"{code.spills} instructions" if code and code.spills else ""),
    ]
    return {
        "function": dispatch.name,
        "details": [[name, text] for name, text in details if text],
        "hot_loop": code.hot_loop if code else [],
    }


def _cycles(ran: Ran) -> str:
    """Returns the cycles of a command that hardware ran, in all and of an instruction."""
    if ran.cycles is None:
        return ""
    return f"{ran.cycles:,}, {ran.cycles / max(ran.instructions, 1):.2f} for each instruction"


def _operand(operand: Operand) -> str:
    shape = "?" if operand.shape is None else "x".join(map(str, operand.shape))
    access = [word for word, does in (("reads", operand.reads), ("writes", operand.writes)) if does]
    return f"{shape} {operand.dtype}, {' and '.join(access)}"


def layers(commands: list[Json]) -> list[Json]:
    """Returns the cost of each layer and kernel together, the most expensive first."""
    found: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for command in commands:
        if command["times"]:
            found[command["layer"], command["op"]].append(command)
    rows = []
    for (layer, op), group in found.items():
        spent = sum(command["instructions"] for command in group)
        least = None if group[0]["bound"] is None else sum(command["bound"] for command in group)
        rows.append(
            {
                "layer": layer or NO_LAYER,
                "op": op,
                "instructions": spent,
                "bound": least,
                "percent": None if least is None else _percent(least, spent),
                "command": group[0]["index"],
            }
        )
    return sorted(rows, key=lambda row: (-row["instructions"], row["command"]))


def tree(commands: list[Json]) -> Json:
    """Returns the commands that ran as leaves of the tree of their layers' modules.

    A module that has only one part is joined with it; a leaf that is alone in its module has the module's name.
    """
    root: Json = {"name": "", "children": []}
    for command in commands:
        if not command["instructions"]:
            continue
        node = root
        for part in _path(command["layer"]):
            inner = [
                child for child in node["children"] if child["name"] == part and "children" in child
            ]
            if not inner:
                inner = [{"name": part, "children": []}]
                node["children"] += inner
            node = inner[0]
        node["children"].append({"name": command["op"], "command": command["index"]})
    return {**root, "children": [_joined(child) for child in root["children"]]}


def _path(layer: str) -> list[str]:
    """Splits `block/conv/Relu` of TensorFlow and `block.conv (Conv2d)` of PyTorch; the type stays with its module."""
    if not layer:
        return [NO_LAYER]
    if "/" in layer:
        return [part for part in layer.split("/") if part]
    name, space, kind = layer.partition(" ")
    *outer, last = name.split(".")
    return [*outer, last + space + kind]


def _joined(node: Json) -> Json:
    if "children" not in node:
        return node
    children = [_joined(child) for child in node["children"]]
    if len(children) == 1:
        (only,) = children
        name = f"{node['name']} / {only['name']}" if "children" in only else node["name"]
        return {**only, "name": name}
    return {**node, "children": children}


def _roofs(model: Model, vlen: int) -> Json | None:
    """Returns the most multiply-accumulates per instruction by type of the sums, and bytes per instruction."""
    if not vlen:
        return None
    macs = 1_000_000
    products = [
        {"accumulator": name, "macs_per_instruction": macs / bound.of_products(macs, name, vlen)}
        for name in sorted({d.accumulator for d in model.dispatches if d.macs})
    ]
    return {"products": products, "bytes_per_instruction": macs / bound.of_bytes(macs, vlen)}


def _weights(model: Model) -> list[Json]:
    """Returns the bytes of weights by the layer that is the first to read them."""
    found: dict[str, int] = defaultdict(int)
    # Equal weights are stored once.
    stored = {weight.offset: weight for weight in model.weights}
    for weight in stored.values():
        readers = (
            command.layer or NO_LAYER
            for command in model.commands
            for binding in command.bindings
            if binding.region == "weights"
            and tensors.overlap(binding, weight.offset, weight.offset + weight.length)
        )
        found[next(readers, "(read by no command)")] += weight.length
    rows = [{"layer": layer, "bytes": size} for layer, size in found.items()]
    return sorted(rows, key=lambda row: -row["bytes"])


def _warnings(model: Model, commands: list[Json]) -> list[str]:
    code = model.code or {}
    scalar = audit.scalar(model, code) if code else []
    found = [audit.sentence(model, dispatch, code[dispatch.name]) for dispatch in scalar]
    for kind, plural in (
        ("copy", "copies"),
        ("fill", "fills"),
        (_COPY, "copies that change a layout"),
    ):
        those = [command for command in commands if command["class"] == kind and command["times"]]
        if those:
            spent = sum(command["instructions"] for command in those)
            size = sum(command["bytes"] for command in those)
            found.append(f"{len(those)} {plural}: {size:,} bytes, {spent:,} instructions")
    if model.int8 and model.int8.note:
        found.append(model.int8.note)
    least = model.arena.liveness_bound_bytes
    above = model.arena.bytes - least
    if above > 0:
        found.append(f"the arena is {above:,} bytes above its liveness bound of {least:,}")
    return found


def _facts(model: Model) -> list[Json]:
    """Returns tables of names and values: what the model was built of and with."""
    return [
        {
            "title": "Model",
            "rows": [
                ["source", model.source],
                ["frontend", model.frontend],
                ["parameters", f"{model.parameters:,}"],
                ["golden outputs from", model.golden.source],
                ["kernels' architecture", model.kernels_arch],
            ],
        },
        {"title": "Versions", "rows": sorted(map(list, model.versions.items()))},
        {"title": "SHA-256", "rows": sorted(map(list, model.sha256.items()))},
        {"title": "Flags of iree-compile", "rows": [["", flag] for flag in model.iree_flags]},
    ]
