"""JSON becomes records and the same JSON again; what does not fit is named by its place."""

from __future__ import annotations

import unittest
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from bmc import records


@dataclass(frozen=True)
class Circle:
    kind: Literal["circle"]
    radius: float


@dataclass(frozen=True)
class Line:
    kind: Literal["line"]
    ends: tuple[int, int]


@dataclass(frozen=True)
class Drawing:
    class_: Annotated[str, "A word of Python."]
    shapes: tuple[Line | Circle, ...]
    sizes: dict[str, tuple[int, ...]]
    title: str | None
    notes: Any
    scale: int | None = None


DATA: dict[str, Any] = {
    "class": "plan",
    "shapes": [{"kind": "circle", "radius": 2}, {"kind": "line", "ends": [3, 4]}],
    "sizes": {"a4": [210, 297]},
    "title": None,
    "notes": {"any": ["thing"]},
}


class RecordsTest(unittest.TestCase):
    def test_there_and_back(self) -> None:
        for data in (DATA, {**DATA, "scale": 0, "title": "House"}):
            self.assertEqual(records.encode(records.decode(Drawing, data)), data)
        found = records.decode(Drawing, DATA)
        self.assertEqual(found.shapes, (Circle("circle", 2), Line("line", (3, 4))))
        self.assertEqual((found.class_, found.scale), ("plan", None))
        self.assertEqual(records.encode([found]), [DATA])

    def test_what_does_not_fit_is_named(self) -> None:
        circle, line = DATA["shapes"]
        for changes, place in (
            ({"class": 1}, "class"),
            ({"class_": "plan"}, "class_"),
            ({"scale": True}, "scale"),
            ({"sizes": {"a4": [210, "297"]}}, "sizes.a4[1]"),
            ({"sizes": []}, "sizes"),
            ({"title": []}, "title"),
            ({"shapes": [line, {**circle, "radius": "far"}]}, "shapes[1].radius"),
            ({"shapes": [{**circle, "kind": "square"}]}, "shapes[0].kind"),
            ({"shapes": [circle | line]}, "shapes[0].ends"),
            ({"shapes": "none"}, "shapes"),
        ):
            with self.assertRaises(records.MisfitError) as raised:
                records.decode(Drawing, {**DATA, **changes})
            self.assertEqual(str(raised.exception), place)
        for missing in ("title", "class"):
            with self.assertRaisesRegex(records.MisfitError, f"^{missing}$"):
                records.decode(Drawing, {key: DATA[key] for key in DATA if key != missing})
        with self.assertRaises(records.MisfitError):
            records.decode(Drawing, [])


if __name__ == "__main__":
    unittest.main()
