"""Reads the ops of TensorFlow Lite for Microcontrollers that make features of sound.

They are custom ops on integers. All of them must stand in front of the other ops of a file, with only casts and moves
between them, and all must lead from one input to one tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_schema

WINDOW, SCALE, FFT, ENERGY = "SignalWindow", "SignalFftAutoScale", "SignalRfft", "SignalEnergy"
BANK, ROOT = "SignalFilterBank", "SignalFilterBankSquareRoot"
SUBTRACTION, GAIN = "SignalFilterBankSpectralSubtraction", "SignalPCAN"
LOG = "SignalFilterBankLog"
# Op -> types of its operands and of its results.
_TYPES = {
    WINDOW: ("INT16 INT16", "INT16"),
    SCALE: ("INT16", "INT16 INT32"),
    FFT: ("INT16", "INT16"),
    ENERGY: ("INT16", "UINT32"),
    BANK: ("UINT32 INT16 INT16 INT16 INT16 INT16", "UINT64"),
    ROOT: ("UINT64 INT32", "UINT32"),
    SUBTRACTION: ("UINT32", "UINT32 UINT32"),
    GAIN: ("UINT32 UINT32 INT16", "UINT32"),
    LOG: ("UINT32", "INT16"),
}
KINDS = frozenset(_TYPES)
# Ops that may stand between them.
RESHAPE, CAST, SLICE, JOIN = "RESHAPE", "CAST", "STRIDED_SLICE", "CONCATENATION"
_BITS_OF_FFT = range(3, 15)
# A gain is looked up at three places for each bit of a number.
_GAINS = 4 * 32 - 3
# Options: op -> name -> least and largest value.
_OPTIONS = {
    WINDOW: {"shift": (0, 30)},
    SCALE: {},
    FFT: {"T": (7, 7), "fft_length": (8, 2**14)},
    ENERGY: {"start_index": (0, 2**13), "end_index": (0, 2**13 + 1)},
    BANK: {"num_channels": (1, 1024)},
    ROOT: {},
    SUBTRACTION: {
        **{
            f"{which}{name}": (0, 2**31 - 1)
            for which in ("", "alternate_")
            for name in ("smoothing", "one_minus_smoothing")
        },
        "clamping": (0, 1),
        "min_signal_remaining": (0, 2**31 - 1),
        "num_channels": (1, 1024),
        "smoothing_bits": (0, 31),
        "spectral_subtraction_bits": (0, 31),
    },
    GAIN: {"snr_shift": (0, 31)},
    LOG: {"input_correction_bits": (0, 31), "output_scale": (0, 2**31 - 1)},
}


@dataclass(frozen=True)
class Op:
    """An op of the part.

    Attributes:
      kind: its name.
      inputs, outputs: tensors.
      options: numbers by name.
      constants: operand -> its values.
    """

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: dict[str, int] = field(default_factory=dict)
    constants: dict[int, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """The first ops of a graph, which make features of sound.

    Attributes:
      ops: in order.
      given, made: the tensor that they read, and the one that others read.
      sizes: elements of each tensor of the part.
    """

    ops: tuple[Op, ...]
    given: int
    made: int
    sizes: dict[int, int]

    @property
    def channels(self) -> int:
        """How many numbers it keeps from call to call, 0 if none."""
        kept = [op.options["num_channels"] for op in self.ops if op.kind == SUBTRACTION]
        return sum(kept)


def name(model: Any, op: Any) -> str:
    """Returns the name of a custom op, or TFLite's of another."""
    custom = model.operatorCodes[op.opcodeIndex].customCode
    return tflite_schema.text(custom) if custom else tflite_schema.op_kind(model, op)


def has(model: Any) -> bool:
    return any(name(model, op) in KINDS for graph in model.subgraphs for op in graph.operators)


def read(model: Any, constants: dict[str, Array]) -> tuple[Part | None, str, Any]:
    """Returns the part of a model with such ops; or None, what is wrong, and the op.

    Args:
      model: a ModelT, of which every op has the tensors that it names.
      constants: by the names of tensors.
    """
    graph = model.subgraphs[0]
    kinds = [name(model, op) for op in graph.operators]
    outside = [
        op for part in model.subgraphs[1:] for op in part.operators if name(model, op) in KINDS
    ]
    if outside:
        return None, "outside of the main graph", outside[0]
    last = max(place for place, kind in enumerate(kinds) if kind in KINDS)
    final = graph.operators[last]
    ops = []
    for op, kind in zip(graph.operators[: last + 1], kinds, strict=False):
        made = _read(model, graph, op, kind, constants)
        if isinstance(made, str):
            return None, made, op
        ops.append(made)
    made_here: set[int] = set()
    read_here: set[int] = set()
    for each in ops:
        read_here |= set(each.inputs) - set(each.constants) - made_here
        made_here |= set(each.outputs)
    after = graph.operators[last + 1 :]
    read_later = {int(i) for op in after for i in op.inputs} | set(map(int, graph.outputs))
    out = made_here & read_later
    if len(read_here) != 1 or not read_here <= set(map(int, graph.inputs)) or len(out) != 1:
        return None, "that does not lead from one input to one tensor in front of other ops", final
    if sum(op.kind == SUBTRACTION for op in ops) > 1:
        return None, "behind another one", final
    (given,), (result,) = read_here, out
    types = {graph.tensors[index].type for index in (given, result)}
    sizes = {
        index: math.prod(tflite_schema.shape(graph.tensors[index])) for index in made_here | {given}
    }
    shape = tflite_schema.shape(graph.tensors[result])
    if types != {_type("INT16")} or len(shape) != 1 or not 0 < shape[0] < sizes[given]:
        return None, "that does not make fewer numbers of int16 of numbers of int16", final
    if given in read_later:
        return None, "beside others that read its input", final
    part = Part(tuple(ops), given, result, sizes)
    for each, op in zip(ops, graph.operators, strict=False):
        if why := _misread(each, part):
            return None, why, op
    return part, "", None


def _misread(op: Op, part: Part) -> str:
    """Returns what is wrong with an op whose tensors have no other fault, "" if nothing."""
    others = [each for each in part.ops if op.outputs[0] in each.inputs]
    if op.kind == FFT and (part.made in op.outputs or {each.kind for each in others} != {ENERGY}):
        return "whose spectrum is not only read for its energy"
    if op.kind == ROOT:
        bits = {each.outputs[1] for each in part.ops if each.kind == SCALE}
        return "" if op.inputs[1] in bits else f"without the bits of an op '{SCALE}'"
    if op.kind == ENERGY:
        start, end = op.options["start_index"], op.options["end_index"]
        is_whole = (start, end) == (0, part.sizes[op.outputs[0]])
        return (
            ""
            if is_whole or _inside(op, part, start, end)
            else "that is read where it has no numbers"
        )
    return ""


def _inside(op: Op, part: Part, start: int, end: int) -> bool:
    """Whether only the elements from `start` to `end` of an op's result are read."""
    same = {op.outputs[0]}
    for each in part.ops:
        if same.isdisjoint(each.inputs):
            continue
        if each.kind in (CAST, RESHAPE):
            same |= set(each.outputs)
        elif each.kind == SLICE:
            low, high = (int(np.ravel(each.constants[index])[0]) for index in each.inputs[1:3])
            if low < start or high > end:
                return False
        else:
            return False
    return part.made not in same


def _type(kind: str) -> int:
    from ai_edge_litert.schema_py_generated import TensorType

    return int(getattr(TensorType, kind))


def _read(model: Any, graph: Any, op: Any, kind: str, constants: dict[str, Array]) -> Op | str:
    """Returns an op, or what is wrong with it."""
    inputs, outputs = tuple(map(int, op.inputs)), tuple(map(int, op.outputs))
    if -1 in inputs:
        return "without an operand"
    tensors = {index: graph.tensors[index] for index in (*inputs, *outputs)}
    found = {
        index: constants[tflite_schema.text(tensor.name)]
        for index, tensor in tensors.items()
        if tflite_schema.text(tensor.name) in constants
    }
    if set(outputs) & set(found):
        return "with a result that is a constant"
    sizes = {index: math.prod(tflite_schema.shape(tensor)) for index, tensor in tensors.items()}
    if kind not in KINDS:
        made = Op(kind, inputs, outputs, {}, found)
        return made if _is_move(op, made, tensors, sizes) else "among ops on sound in this form"
    wanted = [[_type(each) for each in part.split()] for part in _TYPES[kind]]
    if [[tensors[i].type for i in part] for part in (inputs, outputs)] != wanted:
        return "with tensors of other types or numbers"
    options = _options(op, kind)
    if options is None:
        return "with options that bmc does not understand"
    made = Op(kind, inputs, outputs, options, found)
    return made if _fits(made, sizes) else "with tensors that do not fit to its options"


def _options(op: Any, kind: str) -> dict[str, int] | None:
    from flatbuffers import flexbuffers

    try:
        data = bytes(bytearray(op.customOptions))
        loaded = flexbuffers.Loads(data) if _OPTIONS[kind] else {}
        found = {name: int(loaded[name]) for name in _OPTIONS[kind]}
    except Exception:  # Whatever flexbuffers raises for bytes that are none.
        return None
    limits = _OPTIONS[kind]
    if len(loaded) != len(limits):
        return None
    inside = all(limits[name][0] <= value <= limits[name][1] for name, value in found.items())
    return found if inside else None


def _is_move(op: Any, made: Op, tensors: dict[int, Any], sizes: dict[int, int]) -> bool:
    """Whether an op only moves or reinterprets integers."""
    words = {_type("INT32"), _type("UINT32")}
    if len(made.outputs) != 1 or not made.inputs:
        return False
    first, (result,) = made.inputs[0], made.outputs
    types = [tensors[index].type for index in (first, result)]
    ranks = [len(tflite_schema.shape(tensors[index])) for index in (first, result)]
    if made.kind == CAST:
        return set(types) <= words and sizes[first] == sizes[result] and first not in made.constants
    if types[0] != types[1]:
        return False
    if made.kind == RESHAPE:
        return sizes[first] == sizes[result] and first not in made.constants
    if made.kind == SLICE:
        bounds = [made.constants.get(index) for index in made.inputs[1:]]
        masks = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask", "offset")
        if ranks != [1, 1] or len(bounds) != 3 or any(b is None or b.size != 1 for b in bounds):
            return False
        start, end, step = (int(np.ravel(b)[0]) for b in bounds if b is not None)
        inside = 0 <= start < end <= sizes[first] and end - start == sizes[result]
        is_plain = not any(getattr(op.builtinOptions, mask, False) for mask in masks)
        return inside and step == 1 and is_plain and first not in made.constants
    if made.kind == JOIN:
        all_flat = all(len(tflite_schema.shape(tensors[index])) == 1 for index in made.inputs)
        # The kernel does not check the axis.
        is_first = getattr(op.builtinOptions, "axis", None) in (0, -1)
        is_plain = is_first and not op.builtinOptions.fusedActivationFunction
        same = {tensors[index].type for index in made.inputs} == {types[1]}
        total = sum(sizes[index] for index in made.inputs) == sizes[result]
        return all_flat and is_plain and same and total and ranks[1] == 1
    return False


def _fits(op: Op, sizes: dict[int, int]) -> bool:
    """Whether the sizes of an op's tensors, and its constants, are those that its kernel expects."""
    given = [sizes[index] for index in op.inputs]
    made = [sizes[index] for index in op.outputs]
    known = [index in op.constants for index in op.inputs]
    options = op.options
    if op.kind == WINDOW:
        return known == [False, True] and given[0] == given[1] == made[0] > 0
    if op.kind == SCALE:
        return known == [False] and given[0] == made[0] > 0 and made[1] == 1
    if op.kind == FFT:
        length = options["fft_length"]
        is_power = length in (2**bits for bits in _BITS_OF_FFT)
        return known == [False] and is_power and 0 < given[0] <= length and made[0] == length + 2
    if op.kind == ENERGY:
        inside = options["start_index"] <= options["end_index"] <= made[0]
        return known == [False] and inside and given[0] == 2 * made[0]
    if op.kind == BANK:
        return known == [False, *[True] * 5] and _bank_fits(op, given, made[0])
    if op.kind == ROOT:
        return known == [False, False] and given[0] == made[0] > 0 and given[1] == 1
    if op.kind == SUBTRACTION:
        channels = options["num_channels"]
        return known == [False] and given == [channels] and made == [channels, channels]
    if op.kind == GAIN:
        same = given[0] == given[1] == made[0] > 0
        return known == [False, False, True] and same and given[2] >= _GAINS
    return known == [False] and given[0] == made[0] > 0


def _bank_fits(op: Op, given: list[int], made: int) -> bool:
    channels = op.options["num_channels"]
    _, weights, others, starts, first_weights, widths = (
        np.ravel(op.constants[index]).astype(np.int64) if index in op.constants else np.zeros(0)
        for index in op.inputs
    )
    if made != channels or not (starts.size == first_weights.size == widths.size == channels + 1):
        return False
    if weights.size != others.size or min(starts.min(), first_weights.min(), widths.min()) < 0:
        return False
    return bool(
        (starts + widths).max() <= given[0] and (first_weights + widths).max() <= weights.size
    )


def packed(op: Op) -> bytes:
    """Returns the options of an op on sound as its kernel reads them: by their place, without checks."""
    from flatbuffers import flexbuffers

    if not op.options:
        return b""
    options = {name: bool(n) if name == "clamping" else n for name, n in op.options.items()}
    return bytes(flexbuffers.Dumps(options))


def bank(op: Op, size: int) -> Array:
    """Returns the weights of a filter bank as [channel, number of its input].

    A filter weighs its own numbers, and those of the filter before it with their other weights.
    """
    _, weights, others, starts, first, widths = (
        np.ravel(op.constants.get(index, np.zeros(0))).astype(np.int64) for index in op.inputs
    )
    channels = op.options["num_channels"]
    made = np.zeros((channels + 2, size), np.int64)
    for channel, (start, place, width) in enumerate(zip(starts, first, widths, strict=True)):
        made[channel, start : start + width] += weights[place : place + width]
        made[channel + 1, start : start + width] += others[place : place + width]
    return made[1 : channels + 1]
