"""Tests for outputs.py: what is refused before BuildBox makes folders, copies inputs or gives properties."""

from __future__ import annotations

import hashlib
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.actions.remote import outputs
from tools.actions.remote.client import field, nested


class OutputsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.store = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def put(self, data: bytes) -> bytes:
        """Puts a blob into the store; returns its Digest."""
        name = hashlib.sha256(data).hexdigest()
        path = self.store / "cas/objects" / name[:2] / name[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return field(1, name.encode()) + field(2, len(data))

    def action(self, output: str, folder: str = "", kind: int = 7) -> bytes:
        """An action with one output, whose inputs are the file f, the link l, and d with another link m."""
        below = self.put(field(3, field(1, b"m") + field(2, b"/tmp")))
        inputs = field(1, field(1, b"f"))
        inputs += field(2, field(1, b"d") + field(2, below)) + field(
            3, field(1, b"l") + field(2, b"/")
        )
        command = field(1, b"/bin/true") + field(kind, output.encode()) + field(6, folder.encode())
        return field(1, self.put(command)) + field(2, self.put(inputs)) + field(7, 1)

    def refuses(self, sentence: str, action: bytes, *, copies: bool = False) -> None:
        with self.assertRaisesRegex(outputs.OutputError, sentence):
            outputs.check(action, self.store, copies=copies)

    def test_outputs_of_an_action(self) -> None:
        for output, folder in (("f", ""), ("o/p/f", ""), ("d/o", ""), ("o", "d"), ("x/l", "")):
            outputs.check(self.action(output, folder), self.store, copies=True)

    def test_outputs_of_other_folders(self) -> None:
        for kind in (3, 4, 7):
            for output in ("/tmp/x", "../x", "o/../../x", "d/.."):
                self.refuses("outside of the action's folder", self.action(output, kind=kind))
        self.refuses("outside of the action's folder", self.action("x", "../y"))
        self.refuses("outside of the action's folder", self.action("x", "/y"))

    def test_outputs_behind_links(self) -> None:
        self.refuses("'l/x' lies behind 'l', a link", self.action("l/x"))
        self.refuses("'d/m/x' lies behind 'm', a link", self.action("d/m/x"))
        self.refuses("'d/m/x' lies behind 'm', a link", self.action("m/x", "d"))

    def test_properties(self) -> None:
        """They give an action the network, another root or another user; those of a worker's kind do no harm."""
        for place in (5, 10):
            for name in (b"network", b"chrootRootDigest", b"unixUID", b"", b"ISA\0"):
                platform = field(1, field(1, b"ISA")) + field(1, field(1, name) + field(2, b"on"))
                command = field(1, b"/bin/true") + (field(5, platform) if place == 5 else b"")
                action = field(1, self.put(command))
                action += field(10, platform) if place == 10 else b""
                self.refuses("gives no action the property", action)
        platform = field(1, field(1, b"OSFamily") + field(2, b"linux"))
        outputs.check(field(1, self.put(b"")) + field(10, platform), self.store, copies=True)

    def test_names_of_inputs_that_are_paths(self) -> None:
        """Only where they are copied; a file system that shows them refuses such names."""
        for kind in (1, 2, 3):
            for name in (b"../x", b"/x", b"a/b", b"..", b".", b""):
                node = field(kind, field(1, b"d") + field(1, name))
                for inputs in (node, field(2, field(1, b"e") + field(2, self.put(node)))):
                    action = field(1, self.put(b"")) + field(2, self.put(inputs))
                    self.refuses("is no name of an input", action, copies=True)
                    outputs.check(action, self.store, copies=False)

    def test_folders_that_hold_each_other_many_times_over(self) -> None:
        for copies in (False, True):
            action = field(1, self.put(b"")) + field(2, nested(self.put))
            self.refuses("more than 500000 files and folders as inputs", action, copies=copies)
        action = self.action("x")
        with mock.patch.object(outputs, "MOST_INPUTS", 4):
            outputs.check(action, self.store, copies=False)
        with mock.patch.object(outputs, "MOST_INPUTS", 3):
            self.refuses("more than 3 files", action)

    def test_actions_that_are_written_in_other_ways(self) -> None:
        """The last value of a field counts, and the parts of a message add up."""
        bad = self.action("../x")
        self.refuses("outside", bad.replace(b"\n\x44", b"\n\x44" + bad[2:70] + b"\n\x44", 1))
        self.refuses("damaged", bad[:30])
        self.refuses("damaged", b"\x0b")
        self.refuses("damaged", field(1, 5))
        self.refuses("damaged", b"\xff" * 20)
        self.refuses("the store lacks", field(1, field(1, b"ab" * 32)))
        self.refuses("is none", field(1, field(1, b"../../x")))

    def test_the_program_of_buildbox(self) -> None:
        """It is started for what is right, and an action that is not fails with a sentence."""
        action, result = self.store / "a", self.store / "r"
        words = [
            "run",
            str(self.store),
            "copies",
            f"--action={action}",
            f"--action-result={result}",
            "-x",
        ]
        with mock.patch.object(os, "execv") as started:
            started.side_effect = SystemExit
            action.write_bytes(self.action("../x"))
            self.assertEqual(outputs.main(words), 0)
            started.assert_not_called()
            said = result.read_bytes()
            self.assertEqual(said[:3], field(4, 1) + b"\x3a")
            self.assertIn(b"worker: the output '../x' lies outside", said)
            action.write_bytes(self.action("x"))
            with self.assertRaises(SystemExit):
                outputs.main(words)
            started.assert_called_once_with("run", ["run", *words[3:]])


if __name__ == "__main__":
    unittest.main()
