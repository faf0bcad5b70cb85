"""What service firmware is asked, and what its answers mean."""

from __future__ import annotations

import unittest

from tools.service.frames import PAYLOAD_BYTES, Frame, Reader, encode
from tools.service.service import Run, Service, ServiceError, Sizes, Stop

# runtime_bm/app/service.h.
_OPEN, _WRITE, _RUN, _READ, _ENTRY, _RESET, _PEEK = range(1, 8)
_ENTRIES = {"main": Sizes((5, 2000), (2500, 1)), "step": Sizes((), (3,))}
_MEMORY = bytes(index % 251 for index in range(4000))


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


class _Firmware:
    """The other end of a line: keeps what it is asked, and has the same bytes in every output and region."""

    def __init__(self) -> None:
        self.inputs: dict[int, bytes] = {}
        self.asked: list[tuple[int, bytes]] = []
        self._entry = "main"
        self._reader = Reader()
        self._sent = b""

    def write(self, data: bytes) -> None:
        for frame in self._reader.take(data):
            self.asked.append((frame.kind, frame.payload))
            answer = bytes(4) + self._answer(frame.kind, frame.payload)
            self._sent += encode(Frame(frame.kind, frame.number, answer))

    def read(self, seconds: float) -> bytes:
        sent, self._sent = self._sent, b""
        return sent

    def _answer(self, kind: int, payload: bytes) -> bytes:
        if kind in (_OPEN, _ENTRY):
            self._entry = payload.decode() if kind == _ENTRY else "main"
            sizes = _ENTRIES[self._entry]
            counts = (len(sizes.inputs), len(sizes.outputs))
            return (
                b"".join(count.to_bytes(2, "little") for count in counts)
                + b"".join(size.to_bytes(4, "little") for size in (*sizes.inputs, *sizes.outputs))
                + (b"net" if kind == _OPEN else payload)
            )
        if kind == _RUN:
            return (7 << 40).to_bytes(8, "little") + (9 << 40).to_bytes(8, "little")
        if kind in (_READ, _PEEK):
            begin, size = _number(payload[2:6]), _number(payload[6:])
            return _MEMORY[begin : begin + size]
        if kind == _WRITE:
            number, begin = _number(payload[:2]), _number(payload[2:6])
            self.inputs[number] = self.inputs.get(number, b"")[:begin] + payload[6:]
        return b""


class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.firmware = _Firmware()
        self.service = Service(self.firmware, 60, str)
        self.service.open(3, "net", _ENTRIES)

    def test_a_run(self) -> None:
        self.assertEqual(self.firmware.asked, [(_OPEN, b"\3\0")])
        inputs = (b"12345", _MEMORY[:2000])
        # Outputs come in parts that frames can hold.
        wanted = Run((_MEMORY[:2500], _MEMORY[:1]), 7 << 40, 9 << 40)
        self.assertEqual(self.service.run(inputs), wanted)
        self.assertEqual(self.firmware.inputs, dict(enumerate(inputs)))
        self.assertTrue(all(len(data) <= PAYLOAD_BYTES for _, data in self.firmware.asked))

    def test_a_run_in_parts(self) -> None:
        stops = [Stop(2, 1, 64, 10), Stop(2, 0, 300, 2000), Stop(5, 2, 0, 1)]
        ran, inside = self.service.trace([b"12345", bytes(2000)], range(1, 8), stops)
        self.assertEqual(inside, [_MEMORY[64:74], _MEMORY[300:2300], _MEMORY[:1]])
        self.assertEqual(ran, Run((_MEMORY[:2500], _MEMORY[:1]), 0, 0))
        runs = [(_number(d[:4]), _number(d[4:])) for k, d in self.firmware.asked if k == _RUN]
        self.assertEqual(runs, [(1, 2), (3, 3), (6, 2)])
        regions = [_number(data[:2]) for kind, data in self.firmware.asked if kind == _PEEK]
        self.assertEqual(regions, [1, 0, 0, 2])

    def test_another_entry_point(self) -> None:
        self.service.entry("main")
        self.service.entry("step")
        self.service.reset()
        self.assertEqual(self.service.run([]).outputs, (_MEMORY[:3],))
        kinds = [kind for kind, _ in self.firmware.asked]
        self.assertEqual(kinds, [_OPEN, _ENTRY, _RESET, _RUN, _READ])

    def test_another_model_or_build(self) -> None:
        with self.assertRaisesRegex(ServiceError, "runs the model net, not other"):
            self.service.open(0, "other", _ENTRIES)
        wrong = {"main": Sizes((5, 2000), (2500,))}
        text = "main has 5, 2,000 bytes of inputs and 2,500, 1 of outputs on the target"
        with self.assertRaisesRegex(ServiceError, text):
            self.service.open(0, "net", wrong)


if __name__ == "__main__":
    unittest.main()
