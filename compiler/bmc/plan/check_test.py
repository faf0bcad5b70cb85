"""Tests that plans are refused which the runtime would refuse."""

from __future__ import annotations

import dataclasses
import unittest

import support

from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.errors import InternalError
from bmc.plan import check, tables
from bmc.plan.tables import Access, Binding, CommandKind, Region


class PlanTest(support.FolderTest):
    def test_verify_finds_what_build_must_not_do(self) -> None:
        good = support.lower_text(support.ADD, self.folder).plan
        check.verify(good)
        command = good.commands[0]
        binding = command.bindings[0]
        for bad in (
            dataclasses.replace(binding, offset=128),
            dataclasses.replace(binding, region=Region.WEIGHTS),
            dataclasses.replace(binding, offset=32, length=32),
            dataclasses.replace(binding, alignment=128),
        ):
            with self.assertRaises(InternalError, msg=str(bad)):
                self.verify(good, dataclasses.replace(command, bindings=(bad, binding)))
        with self.assertRaises(InternalError):
            self.verify(good, dataclasses.replace(command, bindings=(binding,)))
        with self.assertRaises(InternalError):
            self.verify(good, dataclasses.replace(command, constants=(1,)))
        with self.assertRaises(InternalError):
            check.verify(dataclasses.replace(good, arena_bytes=64))

    def verify(self, good: tables.Plan, command: tables.Command) -> None:
        check.verify(dataclasses.replace(good, commands=(command,)))


class LimitTest(support.FolderTest):
    def verify(self, **parts: object) -> None:
        plan = tables.Plan("m", 0, 0, 64, 0, (), (), ())
        check.verify(dataclasses.replace(plan, **parts))  # type: ignore[arg-type]

    def test_bindings(self) -> None:
        def verify(count: int) -> None:
            bindings = (Binding(Region.ARENA, 0, 64, Access.READ, 64),) * count
            command = tables.Command(CommandKind.DISPATCH, True, 0, (1, 1, 1), (), bindings)
            self.verify(exports=(tables.Export("k", 0, count),), commands=(command,))

        verify(32)
        self.refuses("too-large", "kernel k has more than 32 buffers", call=lambda: verify(33))

    def test_alignments(self) -> None:
        def verify(offset: int, alignment: int) -> None:
            binding = Binding(Region.ARENA, offset, 4, Access.READ, alignment)
            command = tables.Command(CommandKind.DISPATCH, True, 0, (1, 1, 1), (), (binding,))
            self.verify(arena_bytes=256, exports=(tables.Export("k", 0, 1),), commands=(command,))

        for offset, alignment in ((96, 32), (96, 4), (64, 64), (7, 1)):
            verify(offset, alignment)
        # More than all regions keep, and more than the offset does.
        for offset, alignment in ((128, 128), (96, 64), (6, 4), (48, 48)):
            with self.assertRaisesRegex(InternalError, f"is not aligned to {alignment}"):
                verify(offset, alignment)

    def test_dimensions(self) -> None:
        def verify(rank: int) -> None:
            tensor = tables.Tensor(TensorInfo("x", DType.F32, (1,) * rank), 0)
            self.verify(entries=(tables.Entry("main", 0, 0, (tensor,), ()),))

        verify(8)
        self.refuses("too-large", "more than 8 dimensions", call=lambda: verify(9))

    def test_bytes(self) -> None:
        for region in ("arena_bytes", "weights_bytes", "state_bytes"):
            self.verify(**{region: (1 << 32) - 1})
            self.refuses("too-large", "4 GiB", call=lambda r=region: self.verify(**{r: 1 << 32}))

    def test_a_true_overlap_is_refused(self) -> None:
        bindings = tuple(
            tables.Binding(Region.STATE, offset, 16, access, 1)
            for offset, access in ((0, Access.READ), (15, Access.WRITE))
        )
        command = tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), bindings)
        model = tables.Plan("m", 0, 0, 0, 0, (), (command,), (), state_bytes=64)
        with self.assertRaisesRegex(InternalError, "command 0 copies within what it reads"):
            check.verify(model)


if __name__ == "__main__":
    unittest.main()
