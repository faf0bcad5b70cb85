"""The .disasm of an image shows its kernels' code, including vector instructions."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

# Image -> an instruction in the loop of its matrix product.
PRODUCTS = {
    "mlp_rv64": r"\tvfmacc\.vf\t",
    "ds_cnn_int8_rv64": r"\tvwmacc(su|u)?\.v[vx]\t",
    "mlp_rv32": r"\tvfmacc\.vf\t",
}


def kernels(disassembly: str) -> dict[str, str]:
    """Name -> code of every kernel."""
    functions = re.findall(
        r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?=^$|\Z)", disassembly, re.MULTILINE | re.DOTALL
    )
    return {name: code for name, code in functions if "_k_" in name}


def undecoded(disassembly: str) -> list[str]:
    """Names of the kernels with an instruction that could not be decoded."""
    return [name for name, code in kernels(disassembly).items() if "<unknown>" in code]


class DisassemblyTest(unittest.TestCase):
    def setUp(self) -> None:
        paths = map(Path, os.environ["DISASSEMBLIES"].split())
        self.texts = {path.stem: path.read_text() for path in paths}

    def test_every_instruction_of_a_kernel_is_decoded(self) -> None:
        for image, text in self.texts.items():
            with self.subTest(image):
                self.assertTrue(kernels(text))
                self.assertEqual(undecoded(text), [])
                # What surrounds the kernels' code is shown as data. Only startup has instructions beyond the image's
                # ISA, which it tries (boards/common/probe.h).
                others = re.sub(r"<try_\w+>:\n.*?(?=^$|\Z)", "", text, flags=re.M | re.S)
                self.assertNotIn("<unknown>", others)

    def test_products_are_vector_code(self) -> None:
        for image, instruction in PRODUCTS.items():
            with self.subTest(image):
                self.assertRegex("".join(kernels(self.texts[image]).values()), instruction)

    def test_what_is_not_decoded_is_noticed(self) -> None:
        text = "0 <m_k_a>:\n0:  \tret\n\n2 <m_k_b>:\n2:  \t<unknown>\n\n6 <main>:\n6: \t<unknown>\n"
        self.assertEqual(undecoded(text), ["m_k_b"])


if __name__ == "__main__":
    unittest.main()
