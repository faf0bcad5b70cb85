"""What code is for, on pieces of real disassemblies."""

from __future__ import annotations

import unittest

from tools.report.bench import code

# A 1x1 convolution in int8.
VECTOR = """
    4e7c:      	vsetivli	zero, 0x10, e32, m4, ta, ma
    4e80:      	vsetvli	zero, zero, e16, m2, ta, ma
    4e84:      	vle8.v	v14, (s5)
    4e88:      	vsext.vf2	v12, v14
    4e8c:      	lb	s6, -0x40(s4)
    4e9c:      	vwmacc.vx	v8, s6, v12
    4eac:      	addi	s5, s5, 0x20
    4eb0:      	addi	s4, s4, 0x1
    4eb2:      	bne	s5, a4, 0x4e80 <.text+0x267a>
    4eb6:      	vs4r.v	v8, (a4)
    4eba:      	vl4r.v	v12, (s4)
    4ebe:      	ret
"""
# Grouped convolutions: f32, and int8 whose requantization is vector code.
FLOAT = """
    160e:      	li	t1, 0x0
    161c:      	li	t5, 0x0
    163c:      	flw	fa4, 0x0(s9)
    1640:      	flw	fa3, 0x0(s7)
    1644:      	fmadd.s	fa5, fa4, fa3, fa5
    164a:      	addi	s9, s9, 0x4
    1650:      	bnez	s8, 0x163c <.text+0x17a>
    1686:      	vsetivli	zero, 0x2, e32, mf2, ta, ma
    168a:      	vle32.v	v8, (a7)
    169e:      	vse32.v	v8, (t6)
    16ae:      	bne	t1, t0, 0x161c <.text+0x15a>
    16bc:      	bne	a0, t0, 0x160e <.text+0x14c>
"""
INTEGER = """
    159e:      	lb	s11, 0x0(s10)
    15a2:      	lb	ra, 0x0(s7)
    15a6:      	mul	s11, ra, s11
    15ac:      	add	s8, s8, s11
    15b0:      	addi	s7, s7, 0x10
    15b2:      	bnez	s9, 0x159e <.text+0x16a>
    15e2:      	vsetivli	zero, 0x2, e32, mf2, ta, ma
    15e6:      	vmul.vx	v8, v8, a7
    15fa:      	vse32.v	v8, (t6)
"""
# A copy that computes an address.
COPY = """
    2822:      	mul	a6, a0, a4
    2830:      	vsetivli	zero, 0x3, e8, mf8, ta, ma
    2834:      	vle8.v	v8, (a7)
    2838:      	vse8.v	v8, (t0)
    2840:      	bne	t0, a6, 0x2834 <.text+0x2e>
    2844:      	addi	a0, a0, 0x1
    2846:      	bne	a0, a5, 0x2822 <.text+0x1c>
"""


def kernel(text: str) -> code.Kernel:
    return code.read(code.instructions(text.splitlines()))


class CodeTest(unittest.TestCase):
    def test_vector_code(self) -> None:
        found = kernel(VECTOR)
        self.assertTrue(found.vectorized)
        self.assertEqual(found.scalar_products, ())
        self.assertEqual(found.spills, 2)
        self.assertEqual(found.uses[0x4E9C], code.Use.VECTOR_PRODUCT)
        (loop,) = found.loops
        self.assertEqual([loop.body[0].address, loop.body[-1].address], [0x4E80, 0x4EB2])

    def test_scalar_code(self) -> None:
        for text, product in ((FLOAT, "fmadd.s"), (INTEGER, "mul")):
            with self.subTest(product):
                found = kernel(text)
                self.assertEqual(found.scalar_products, (product,))
                self.assertFalse(found.vectorized)
                self.assertEqual(found.spills, 0)
                self.assertEqual(len(found.loops), 1)

    def test_addresses_are_no_products(self) -> None:
        found = kernel(COPY)
        self.assertEqual(found.scalar_products, ())
        self.assertFalse(found.vectorized)
        self.assertEqual(found.uses[0x2822], code.Use.OTHER)

    def test_the_hot_loop_has_the_most_multiply_adds(self) -> None:
        few = VECTOR.replace("4e", "5e")
        many = VECTOR.replace(
            "    4eac:      \taddi\ts5, s5, 0x20", "    4eac:      \tvwmacc.vx\tv16, s6, v12"
        )
        for text in (COPY + few + many, many + few + COPY):
            loop = kernel(text).hot_loop
            assert loop
            self.assertEqual(str(loop.body[-1]), "4eb2: bne s5, a4, 0x4e80 <.text+0x267a>")
        # Without any, it is the longest one.
        loop = kernel(COPY + FLOAT).hot_loop
        assert loop
        self.assertEqual(loop.body[0].address, 0x163C)
        self.assertIsNone(kernel("    4ebe:      \tret").hot_loop)

    def test_products_that_are_added_up_by_a_reduction(self) -> None:
        text = VECTOR.replace("vwmacc.vx\tv8, s6, v12", "vfmul.vv\tv8, v9, v12")
        self.assertTrue(kernel(text).vectorized)

    def test_products_of_bf16(self) -> None:
        for name, is_product in (("vfwmaccbf16.vf", True), ("vfwcvtbf16.f.f.v", False)):
            text = VECTOR.replace("vwmacc.vx", name)
            self.assertEqual(kernel(text).vectorized, is_product)

    def test_work_is_in_registers(self) -> None:
        work = kernel(VECTOR).work
        # Bytes beside 16 bits: half of the group of two; a sum of 32 bits takes twice the group.
        self.assertEqual([work[at] for at in (0x4E84, 0x4E88, 0x4E9C)], [1, 2, 4])
        self.assertEqual([work[at] for at in (0x4E80, 0x4E8C, 0x4EB6)], [0, 0, 4])
        self.assertEqual(kernel(COPY).work[0x2834], 1 / 8)

    def test_kernels_end_where_the_next_one_starts(self) -> None:
        lines = (COPY + VECTOR).splitlines()
        found = code.kernels(code.instructions(lines), {"product": 0x4E7C, "copy": 0x2822})
        self.assertEqual(len(found["copy"].instructions), 7)
        self.assertTrue(found["product"].vectorized)
        self.assertFalse(found["copy"].vectorized)


if __name__ == "__main__":
    unittest.main()
