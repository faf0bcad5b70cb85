"""Golden data -> golden.bin, golden.c and golden.S (runtime_bm/app/golden.h)."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from bmc import spec
from bmc.artifacts import Golden
from bmc.dtype import DType
from bmc.emit import c_text, symbols
from bmc.facts.operands import Kernel
from bmc.plan import tables
from bmc.plan.tables import CommandKind, Plan


class PolicyKind(enum.IntEnum):
    """The numbers of BM_GOLDEN_EXACT and the others in runtime_bm/app/golden.h."""

    EXACT = 0
    FLOAT = 1
    INT_STEP = 2


_OF_PRODUCTS = {"f32": DType.F32, "i32": DType.I32, "i8": DType.I8}
# Below every possible cosine: "not checked".
_NO_COSINE = -2.0


def data(golden: Golden) -> bytes:
    """Returns, per case, inputs then expected outputs, each padded to 64 bytes."""
    blob = bytearray()
    for inputs, outputs in zip(golden.inputs, golden.outputs, strict=True):
        for array in (*inputs, *outputs):
            blob += array.tobytes()
            blob += b"\0" * (tables.align(len(blob)) - len(blob))
    return bytes(blob)


def source(model: Plan, golden: Golden, operands: dict[str, Kernel]) -> str:
    """Returns golden.c; `operands` are those of each dispatch function."""
    name = model.name
    text = f'/* {c_text.BANNER} */\n#include "runtime_bm/app/golden.h"\n\n'
    text += f"extern const uint8_t {name}_golden_data[];\n\n"
    text += c_text.array("static const bm_golden_output_t k_outputs", map(_policy, golden.policies))
    labels = "0"
    if golden.labels is not None:
        text += c_text.packed_array("static const uint32_t k_labels", golden.labels, 16)
        labels = "(const uint8_t *)k_labels"
    text += c_text.array(
        "static const bm_golden_call_t k_calls",
        (f"{{.entry = {call.entry}, .reset = {int(call.reset)}}}" for call in golden.calls),
    )
    dtypes = list(_dtypes(model, operands))
    text += c_text.packed_array("static const uint8_t k_dtypes", dtypes, 16)
    return text + (
        f"extern const bm_golden_t {symbols.golden(name)};\n"
        f"const bm_golden_t {symbols.golden(name)} = {{\n"
        f"    .case_count = {len(golden.inputs)},\n"
        f"    .data = {name}_golden_data,\n"
        f"    .data_bytes = {len(data(golden))}u,\n"
        "    .outputs = k_outputs,\n"
        f"    .labels = {labels},\n"
        f"    .framework_correct = {golden.framework_correct},\n"
        f"    .calls = {'k_calls' if golden.calls else '0'},\n"
        f"    .dtypes = {'k_dtypes' if dtypes else '0'},\n"
        "};\n"
    )


def _dtypes(model: Plan, operands: dict[str, Kernel]) -> Iterator[int]:
    """Yields the type of the elements in each binding of the plan, 0 if it is not one that products have."""
    for command in model.commands:
        kernel = None
        if command.kind is CommandKind.DISPATCH:
            kernel = operands.get(model.exports[command.export_index].name)
        for number in range(len(command.bindings)):
            found = {o.dtype for o in kernel.operands if o.binding == number} if kernel else set()
            yield int(_OF_PRODUCTS.get(found.pop(), 0)) if len(found) == 1 else 0


def assembly(model: Plan) -> str:
    """Returns golden.S."""
    return c_text.include_blob(
        f".bm.golden.{model.name}", f"{model.name}_golden_data", "golden.bin"
    )


def _policy(policy: spec.Policy) -> str:
    if isinstance(policy, spec.Exact):
        return f"{{.policy = {PolicyKind.EXACT}}}"
    if isinstance(policy, spec.IntStep):
        return (
            f"{{.policy = {PolicyKind.INT_STEP}, .max_step = {policy.max_step}u,"
            f" .max_differing = {policy.max_differing}u}}"
        )
    cosine = _NO_COSINE if policy.min_cosine is None else policy.min_cosine
    return (
        f"{{.policy = {PolicyKind.FLOAT}, .atol = {_float(policy.atol)}, .rtol = {_float(policy.rtol)},"
        f" .min_cosine = {_float(cosine)}}}"
    )


def _float(value: float) -> str:
    text = repr(float(value))
    return (text if "." in text or "e" in text else text + ".0") + "f"
