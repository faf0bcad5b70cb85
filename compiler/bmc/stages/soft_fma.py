"""Stage: fused multiplications and additions of a hart without F become calls.

LLVM turns an fma that the hart has no instruction for into a call of `fmaf`. IREE links one to every
kernel, and for 32 bits that one is empty: its library is compiled as if uint64_t had 32 bits. What is
called here is correctly rounded, so such harts compute what those with F do. Remainders would be
computed by fma too, and are made calls of `fmodf`, which works on 32-bit integers.
"""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import llvm

from bmc.errors import BmcError
from bmc.stages import ir_util

# Operation -> what takes its scalars: of runtime_bm/crt/soft_float.c, and of IREE's library.
_FUNCTIONS = {"llvm.intr.fma": "bm_fmaf", "llvm.frem": "fmodf"}


def apply(source: Path, output: Path) -> None:
    """Rewrites the kernels of `source` (phase executable-targets) to `output`.

    Raises:
      BmcError: a kernel does this with another type than f32.
    """
    with ir.Context():
        module = ir_util.read(source)
        for kernels in [op for op in ir_util.walk(module.operation) if op.name == "builtin.module"]:
            for name, function in _FUNCTIONS.items():
                found = [op for op in ir_util.walk(kernels) if op.name == name]
                if found:
                    _declare(kernels, function, len(found[0].operands))
                for op in found:
                    _replace(op, function)
        ir_util.write(module, output)


def _declare(kernels: ir_util.Op, function: str, arity: int) -> None:
    arguments = ", ".join(["f32"] * arity)
    with ir.InsertionPoint.at_block_begin(kernels.regions[0].blocks[0]):
        ir.Operation.parse(f"llvm.func @{function}({arguments}) -> f32").clone()


def _replace(op: ir_util.Op, function: str) -> None:
    type_ = op.results[0].type
    is_vector = isinstance(type_, ir.VectorType)
    element = type_.element_type if is_vector else type_
    if not isinstance(element, ir.F32Type):
        raise BmcError(
            "float-type",
            f"the kernels compute {op.name} in {element}, for which this instruction set has neither"
            " an instruction nor a function",
            hint="compute that part of the model in f32, or use an instruction set with F and D",
        )
    with ir.InsertionPoint(op), op.location:
        if not is_vector:
            result = _call(function, list(op.operands))
        else:
            result = llvm.PoisonOp(type_).result
            for i in range(type_.shape[0]):
                place = llvm.ConstantOp(ir.IntegerType.get_signless(32), _index(i)).result
                scalars = [llvm.ExtractElementOp(o, place).result for o in op.operands]
                result = llvm.InsertElementOp(result, _call(function, scalars), place).result
        op.results[0].replace_all_uses_with(result)
    op.erase()


def _index(i: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)


def _call(function: str, operands: list[ir_util.Value]) -> ir_util.Value:
    return llvm.CallOp(ir.F32Type.get(), operands, [], [], callee=function).result
