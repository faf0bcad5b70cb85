"""Tests that strips compute each row once, from rows that they have."""

from __future__ import annotations

import random
import unittest
from dataclasses import replace

from bmc.strips.segment import Image, Part, Rows, Segment, Strip, Window

_SAME = Window()


def convolution(source: int, rows: int, size: int = 3, stride: int = 1) -> Image:
    """An image that windows make of a padded one; what is outside has no rows."""
    return Image(rows, ((source, Window(stride, size, -(size // 2))),), kept=True)


def chain(*images: Image, first: int = 0, outside: int = 16) -> Segment:
    return Segment((*images[:-1], replace(images[-1], returned=True)), (outside,), first)


class SegmentTest(unittest.TestCase):
    def check(self, segment: Segment, rows: int) -> list[Strip]:
        """Asserts that strips compute all rows of what is returned, each row once, and only read what they have."""
        strips = segment.strips(rows)
        held: dict[int, Part] = {}
        computed: dict[int, list[int]] = {n: [] for n in range(len(segment.images))}
        for strip in strips:
            for number, part in strip.items():
                image = segment.images[number]
                if part.rows.begin < part.fresh:
                    self.assertGreaterEqual(part.rows.begin, held[number].rows.begin)
                    self.assertLessEqual(part.fresh, held[number].rows.end)
                computed[number] += range(part.fresh, part.rows.end)
                fresh = Rows(part.fresh, part.rows.end)
                for source, window in image.reads:
                    if source < 0:
                        continue
                    read = window.rows(fresh, segment.images[source].rows)
                    has = (strip[source] if source in strip else held[source]).rows
                    self.assertLessEqual(has.begin, read.begin, (number, source))
                    self.assertGreaterEqual(has.end, read.end, (number, source))
                held[number] = part
        for number, image in enumerate(segment.images):
            if image.returned:
                self.assertEqual(computed[number], list(range(image.rows)))
            elif image.kept:
                self.assertEqual(len(set(computed[number])), len(computed[number]))
        return strips

    def test_a_chain_of_convolutions(self) -> None:
        segment = chain(convolution(-1, 16), convolution(0, 16), convolution(1, 16))
        strips = self.check(segment, 4)
        self.assertEqual(len(strips), 4)
        # What the third convolution can compute lags by one row for each convolution.
        self.assertEqual(strips[0][2].rows, Rows(0, 2))
        self.assertEqual(strips[1][1], Part(Rows(1, 7), 3))

    def test_two_rows_of_each(self) -> None:
        window = Window(per=2)
        self.assertEqual(window.rows(Rows(2, 6), 8), Rows(1, 3))
        self.assertEqual(window.rows(Rows(3, 4), 8), Rows(1, 2))
        self.assertEqual([window.known(n, 8, 15) for n in (0, 3, 7, 8)], [0, 6, 14, 15])
        doubled = Image(32, ((0, window),))
        segment = chain(convolution(-1, 16), doubled, convolution(1, 32))
        for rows in (1, 3, 4):
            strips = self.check(segment, rows)
            self.assertTrue(all(map(segment.has_rows, strips)))
        # A strip that begins inside of two rows is not made of whole ones.
        uneven = replace(segment, first=2)
        self.assertFalse(all(map(uneven.has_rows, uneven.strips(3))))

    def test_strides_and_rows_that_do_not_divide(self) -> None:
        for rows in (1, 2, 3, 5, 7, 16):
            with self.subTest(rows):
                self.check(
                    chain(convolution(-1, 16), convolution(0, 8, 3, 2), convolution(1, 8)), rows
                )

    def test_a_residual_keeps_rows_for_as_long_as_they_are_read(self) -> None:
        added = Image(16, ((0, _SAME), (2, _SAME)), kept=True)
        segment = chain(convolution(-1, 16), convolution(0, 16), convolution(1, 16), added)
        strips = self.check(segment, 4)
        self.assertEqual(strips[1][0], Part(Rows(2, 8), 4))
        # A shortcut of the input is computed when it is needed, and not all at once.
        lazy = Image(16, ((-1, _SAME),), kept=True)
        lagging = Image(16, ((1, _SAME), (2, _SAME)), kept=True)
        strips = self.check(chain(convolution(-1, 16), convolution(0, 16), lazy, lagging), 4)
        self.assertEqual(strips[0][2].rows, Rows(0, 3))

    def test_random_segments(self) -> None:
        chance = random.Random(5)
        for _ in range(200):
            images = [convolution(-1, 24)]
            for number in range(1, chance.randint(2, 8)):
                source = chance.randrange(max(0, number - 3), number)
                before = images[source].rows
                stride = chance.choice((1, 1, 2)) if before > 4 else 1
                size = chance.choice((1, 3, 5))
                image = convolution(source, -(-before // stride), size, stride)
                others = [n for n in range(number) if images[n].rows == image.rows and n != source]
                more = ((chance.choice(others), _SAME),) if others and chance.random() < 0.4 else ()
                images.append(replace(image, reads=(*image.reads, *more)))
            read = {source for image in images for source, _ in image.reads}
            images = [replace(image, returned=n not in read) for n, image in enumerate(images)]
            self.check(Segment(tuple(images), (24,), 0), chance.randint(1, 12))

    def test_a_row_of_nothing_but_padding(self) -> None:
        # One pixel high windows on an image with two rows of padding, beside a chain that is behind.
        alone = Image(20, ((-1, Window(1, 1, -2)),))
        chained = Image(20, ((0, Window(1, 5, -4)), (1, _SAME)), returned=True)
        segment = Segment((convolution(-1, 16), alone, chained), (16,), 0)
        self.assertTrue(all(map(segment.has_rows, segment.strips(8))))
        self.assertFalse(all(map(segment.has_rows, segment.strips(1))))

    def test_the_check_notices_a_row_too_few(self) -> None:
        class Forgetful(Segment):
            """Keeps a row less of the first image than the next strip reads."""

            def strips(self, rows: int) -> list[Strip]:
                strips = super().strips(rows)
                for strip in strips[1:]:
                    part = strip[0]
                    strip[0] = Part(Rows(part.rows.begin + 1, part.rows.end), part.fresh)
                return strips

        images = (convolution(-1, 16), replace(convolution(0, 16), returned=True))
        self.check(Segment(images, (16,), 0), 4)
        with self.assertRaises(AssertionError):
            self.check(Forgetful(images, (16,), 0), 4)


if __name__ == "__main__":
    unittest.main()
