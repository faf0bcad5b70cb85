"""Tests what reaches the user while frameworks are silenced."""

from __future__ import annotations

import logging
import os
import unittest
import warnings

import support

from bmc.frontends import quiet

_NATIVE = """
import os, sys
from bmc.frontends import quiet

def say(text):
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        os.write(number, b"native " + text.encode() + b"\\n")
        print("python", text, file=stream, flush=True)

with quiet.native():
    say("inside")
say("after")
"""


class QuietTest(unittest.TestCase):
    def test_native_code_is_silent_and_python_is_not(self) -> None:
        done = support.python("-c", _NATIVE)
        wanted = "python inside\nnative after\npython after\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, wanted, wanted))

    def test_packages_do_not_warn_of_each_other(self) -> None:
        with self.assertLogs() as logged, quiet.advice():
            logging.getLogger("torchao.kernel").warning("no such library")
            logging.getLogger("model").warning("the user's own")
        self.assertEqual([record.name for record in logged.records], ["model"])
        with self.assertLogs("torchao"):
            logging.getLogger("torchao.kernel").warning("no such library")

    def test_messages_of_native_code_are_collected(self) -> None:
        with quiet.captured() as messages:
            os.write(2, b"wrong \xff\n")
            self.assertEqual(messages.getvalue(), "")
        self.assertEqual(messages.getvalue(), "wrong \ufffd\n")

    def test_python_code_is_silent_and_heard_again_afterwards(self) -> None:
        def say() -> None:
            logging.getLogger("framework").critical("logged")
            warnings.warn("warned", stacklevel=1)

        with self.assertNoLogs("framework"), warnings.catch_warnings(record=True) as warned:
            with quiet.python():
                say()
            self.assertEqual(warned, [])
        with self.assertLogs("framework"), self.assertWarns(UserWarning):
            say()
        with self.assertRaises(ZeroDivisionError), quiet.python():
            raise ZeroDivisionError
        with self.assertLogs("framework"), self.assertWarns(UserWarning):
            say()


if __name__ == "__main__":
    unittest.main()
