""".pt2 files that try to run code: none of it runs, and the error names it."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import unittest
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import support
import torch

from bmc.frontends import import_model, quiet, torch_archive
from bmc.frontends.options import ImportOptions

Program = dict[str, Any]


class Network(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.scale = torch.ones(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale + x.shape[0]


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def graph(program: Program) -> Program:
    found: Program = program["graph_module"]["graph"]
    return found


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


class TorchArchiveTest(support.FolderTest):
    members: dict[str, bytes]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        torch.manual_seed(0)
        shapes = {"x": {0: torch.export.Dim("batch", max=8)}}
        program = torch.export.export(Network(), (torch.ones(2, 4),), dynamic_shapes=shapes)
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        with zipfile.ZipFile(buffer) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
            cls.members = dict(zip(names, map(archive.read, archive.namelist()), strict=True))

    def setUp(self) -> None:
        super().setUp()
        self.marker = self.folder / "marker"

    def file(
        self,
        change: Callable[[Program], object] = lambda program: None,
        members: Mapping[str, bytes] = {},
        compression: int = zipfile.ZIP_STORED,
    ) -> Path:
        """Writes the valid file with a changed program or other members."""
        program = json.loads(self.members["models/model.json"])
        change(program)
        path = self.folder / "net.pt2"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, data in {**self.members, **members}.items():
                text = json.dumps(program) if name == "models/model.json" else data
                archive.writestr(f"net/{name}", text)
        return path

    def holds(self, what: str, path: Path) -> None:
        self.refuses(
            "unsafe-file", f"'net.pt2' contains {what}", call=lambda: torch_archive.load(path)
        )
        self.assertFalse(self.marker.exists(), what)

    def test_the_file_as_it_is_saved(self) -> None:
        program = torch_archive.load(self.file())
        x = torch.rand(5, 4)
        torch.manual_seed(0)
        self.assertTrue(torch.equal(program.module()(x), Network()(x)))

    def test_strides_that_repeat_a_few_bytes(self) -> None:
        name = "data/weights/model_weights_config.json"
        config = json.loads(self.members[name])
        meta = config["config"]["linear.bias"]["tensor_meta"]
        meta["sizes"], meta["strides"] = [{"as_int": 2**38}], [{"as_int": 0}]
        path = self.file(members={name: json.dumps(config).encode()})
        part = (
            "tensor 'linear.bias' in 'net.pt2' has 1,099,511,627,776 bytes, more than 4,294,967,296"
        )
        self.refuses("over-limit", part, call=lambda: torch_archive.load(path))
        wide = torch.ones(1).expand(2**38)
        path = self.file(members={"data/weights/model.pt": saved({"linear.bias": wide})})
        self.refuses("over-limit", "'linear.bias'", call=lambda: torch_archive.load(path))

    def test_pickles(self) -> None:
        bomb = saved({"linear.weight": Touch(self.marker)})
        # bmc does not read the example inputs at all.
        path = self.file(members={"data/sample_inputs/model.pt": bomb})
        torch_archive.load(path)
        self.assertFalse(self.marker.exists())
        # PyTorch reads them without a word.
        with quiet.python():
            torch.export.load(path)
        self.assertTrue(self.marker.is_dir())
        self.marker.rmdir()
        for kind in ("weights", "constants"):
            path = self.file(members={f"data/{kind}/model.pt": bomb})
            self.holds(f"Python objects in 'data/{kind}/model.pt'", path)
        config = json.loads(self.members["data/weights/model_weights_config.json"])
        config["config"]["linear.bias"]["use_pickle"] = True
        data = {
            "data/weights/model_weights_config.json": json.dumps(config).encode(),
            "data/weights/weight_1": pickle.dumps(Touch(self.marker)),
        }
        self.holds("the Python object 'linear.bias'", self.file(members=data))

    def test_the_whole_import_refuses(self) -> None:
        path = self.file(members={"data/weights/model.pt": saved({"w": Touch(self.marker)})})
        self.refuses(
            "unsafe-file",
            "Python objects",
            call=lambda: import_model(str(path), ImportOptions(), self.folder / "out"),
        )
        self.assertFalse(self.marker.exists())

    def test_what_would_become_code(self) -> None:
        touch = f"__import__('os').mkdir({str(self.marker)!r})"

        def node(key: str, value: Any) -> Callable[[Program], None]:
            return lambda program: graph(program)["nodes"][1].update({key: value})

        def size(text: str) -> Callable[[Program], None]:
            def change(program: Program) -> None:
                graph(program)["tensor_values"]["x"]["sizes"][0]["as_expr"]["expr_str"] = text

            return change

        def spec(key: str, value: Any) -> Callable[[Program], None]:
            def change(program: Program) -> None:
                entry = program["graph_module"]["module_call_graph"][0]["signature"]
                entry[key] = value

            return change

        def tree(kind: str, context: Any) -> str:
            text = None if context is None else json.dumps(context)
            return json.dumps([1, {"type": kind, "context": text, "children_spec": []}])

        enum = {"__enum__": True, "fqn": "antigravity:x", "name": "x"}
        factory = {"default_factory_module": "antigravity", "default_factory_name": "x"}
        changes: dict[str, Callable[[Program], object]] = {
            "a call of 'torch.os.system'": node("target", "torch.os.system"),
            "a call of '_operator.call'": node("target", "_operator.call"),
            "a call of '#x:y'": node("target", "#x:y"),
            "a call of 'torch.ops.load_library'": node("target", "torch.ops.load_library"),
            "a call of 'torch.ops.higher_order.call_torchbind'": node(
                "target", "torch.ops.higher_order.call_torchbind"
            ),
            "a call of 'torch.ops.aten.from_file.default', which takes text": node(
                "target", "torch.ops.aten.from_file.default"
            ),
            "a call of 'torch.ops.aten.save.default', which": node(
                "target", "torch.ops.aten.save.default"
            ),
            "the expression": size(touch),
            "the expression 's0.__class__'": size("s0.__class__"),
            "the expression 'sympify": size("sympify('1')"),
            "the expression 'Symbol": size(f"Symbol({touch!r})"),
            "the name": node("name", f"x = {touch}"),
            "the name 'linear.weight\"": lambda program: program["graph_module"]["signature"][
                "input_specs"
            ][0]["parameter"].update({"parameter_name": 'linear.weight", x) or y("'}),
            "the name 'x, y=": spec("forward_arg_names", [f"x, y={touch}"]),
            "the keys": spec("out_spec", tree("builtins.dict", [enum])),
            "the container 'collections.defaultdict'": spec(
                "out_spec", tree("collections.defaultdict", factory)
            ),
            "an object of class 'os.system'": lambda program: graph(program).update(
                custom_obj_values={"x": {"name": "x", "class_fqn": "os.system"}}
            ),
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.holds(what, self.file(change))
        # bmc drops the text that checks shapes: see PyTorch's _convert_guards_code_to_fn.
        guarded = self.file(lambda program: program.update(guards_code=[touch]))
        torch_archive.load(guarded).module()
        self.assertFalse(self.marker.exists())

    def test_an_op_of_somebody_else(self) -> None:
        def change(program: Program) -> None:
            graph(program)["nodes"][1]["target"] = "torch.ops.torchvision.nms.default"

        self.refuses(
            "op-rejected",
            "op 'torchvision.nms.default' in 'net.pt2' is not one of PyTorch's own",
            call=lambda: torch_archive.load(self.file(change)),
        )

    def test_members(self) -> None:
        library = self.file(members={"data/aotinductor/model/x.so": b"\x7fELF"})
        self.holds("'data/aotinductor/model/x.so'", library)
        for name in ("../x", "/tmp/x"):
            self.holds(f"'{name}'", self.file(members={name: b""}))
        # It only says that it is of 4 GiB.
        path = self.file()
        data = bytearray(path.read_bytes())
        struct.pack_into("<I", data, data.rindex(b"PK\1\2") + 24, 0xFFFFFFF0)
        path.write_bytes(data)
        self.holds("compressed or overlapping members", path)
        bomb = self.file(members={"extra/x": bytes(1 << 20)}, compression=zipfile.ZIP_DEFLATED)
        self.holds("compressed or overlapping members", bomb)

    def test_files_of_older_versions(self) -> None:
        x = torch.rand(2, 4)
        torch.manual_seed(0)
        state = dict(Network().named_parameters())
        older = {
            "data/weights/model.pt": state,
            "data/constants/model.pt": {"scale": torch.ones(3)},
        }
        oldest = ("serialized_state_dict.pt", "serialized_constants.pt")
        for program, names in (
            ("models/model.json", tuple(older)),
            ("serialized_exported_program.json", oldest),
        ):
            path = self.folder / "net.pt2"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("version", "8.8")
                archive.writestr(program, self.members["models/model.json"])
                for name, value in zip(names, older.values(), strict=True):
                    archive.writestr(name, saved(value))
            got = torch_archive.load(path).module(check_guards=False)(x)
            wanted = x @ state["linear.weight"].T + state["linear.bias"] + 2
            torch.testing.assert_close(got, wanted)


if __name__ == "__main__":
    unittest.main()
