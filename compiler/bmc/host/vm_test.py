"""Tests the interpreter on host programs written by hand in the VM dialect."""

from __future__ import annotations

import unittest
from unittest import mock

import support
from iree.compiler import ir

from bmc import artifacts
from bmc.host import evaluate, vm
from bmc.ir import ir_util
from bmc.rewrites.model_context import States


class VmTest(support.FolderTest):
    def run_vm(self, body: str, declarations: str = "") -> None:
        text = f"""vm.module public @model {{
  {declarations}
  vm.export @main
  vm.func private @main() {{
    {body}
    vm.return
  }}
}}
"""
        evaluate.run(self.write("vm.mlir", text), artifacts.main_signature((), ()), States())

    def test_arithmetic_and_branches_are_carried_out(self) -> None:
        self.run_vm(
            """%one = vm.const.i32 1
    %two = vm.add.i32 %one, %one : i32
    %is_two = vm.cmp.eq.i32 %two, %two : i32
    vm.cond_br %is_two, ^good, ^bad
  ^bad:
    %status = vm.const.i32 3
    vm.fail %status, "arithmetic is broken"
  ^good:"""
        )

    def test_numbers_wrap_and_compare_by_their_type(self) -> None:
        text = """vm.module public @model {
  vm.func private @main(%a: i32, %b: i32) -> (i32, i32, i32, i64, i64) {
    %sum = vm.add.i32 %a, %b : i32
    %signed = vm.cmp.lt.i32.s %a, %b : i32
    %unsigned = vm.cmp.lt.i32.u %a, %b : i32
    %wide = vm.ext.i32.i64.s %sum : i32 -> i64
    %plain = vm.ext.i32.i64.u %sum : i32 -> i64
    vm.return %sum, %signed, %unsigned, %wide, %plain : i32, i32, i32, i64, i64
  }
}
"""
        with ir.Context():
            machine = vm.VirtualMachine(ir_util.read(self.write("vm.mlir", text)), {})
            top = -(2**31)
            self.assertEqual(machine.call("main", (2**31 - 1, 1)), (top, 0, 0, top, 2**31))
            self.assertEqual(machine.call("main", (-2, 1)), (-1, 1, 0, -1, 2**32 - 1))

    def test_failure_of_the_program_is_reported(self) -> None:
        body = '%status = vm.const.i32 3\n    vm.fail %status, "wrong device"\n  ^dead:'
        self.refuses("host-program", "wrong device", call=lambda: self.run_vm(body))

    def test_lists_of_a_call_keep_their_order(self) -> None:
        text = """vm.module public @model {
  vm.import private @custom.poke(%x : i32, %pairs : tuple<i32, i32>..., %rest : i32 ...)
  vm.func private @main(%a: i32, %b: i32, %c: i32) {
    vm.call.variadic @custom.poke(%c, [(%a, %b), (%b, %c)], [%a, %b, %c])
      : (i32, tuple<i32, i32> ..., i32 ...)
    vm.return
  }
}
"""
        poke = mock.Mock(return_value=())
        with ir.Context():
            module = ir_util.read(self.write("vm.mlir", text))
            vm.VirtualMachine(module, {"custom.poke": poke}).call("main", (1, 2, 3))
        poke.assert_called_once_with(3, [(1, 2), (2, 3)], [1, 2, 3])

    def test_unknown_operation_is_named(self) -> None:
        body = "%a = vm.const.i32 6\n    %b = vm.div.i32.s %a, %a : i32"
        self.refuses("unsupported-host-op", "'vm.div.i32.s'", call=lambda: self.run_vm(body))

    def test_unknown_import_is_named(self) -> None:
        body, declaration = "vm.call @custom.poke() : () -> ()", "vm.import private @custom.poke()"
        self.refuses(
            "unsupported-host-op", "'custom.poke'", call=lambda: self.run_vm(body, declaration)
        )

    def test_endless_loop_ends(self) -> None:
        loop = "vm.br ^again\n  ^again:\n    vm.br ^again\n  ^dead:"
        self.refuses("host-program", "never ends", call=lambda: self.run_vm(loop))
        initializer = f"vm.func private @__init() {{\n{loop}\n    vm.return\n  }}"
        with mock.patch.object(vm, "STEP_LIMIT", 1000):
            self.refuses(
                "host-program", "more than 1000 steps", call=lambda: self.run_vm("", initializer)
            )

    def test_state_that_is_no_tensor_is_refused(self) -> None:
        body = "%a = vm.const.i32 1\n    vm.global.store.i32 %a, @counter : i32"
        declaration = "vm.global.i32 private mutable @counter : i32"
        self.refuses("unsupported-host-op", "@counter", call=lambda: self.run_vm(body, declaration))

    def test_no_main(self) -> None:
        path = self.write("vm.mlir", "vm.module public @model {\n}\n")
        self.refuses(
            "no-main", call=lambda: evaluate.run(path, artifacts.main_signature((), ()), States())
        )


if __name__ == "__main__":
    unittest.main()
