"""The names of operations that several files look for or make, of linalg, tensor and IREE's dialects.

Those of arith, math, StableHLO and TOSA are spelled out where a table says what is done with each. So are the tables
of frontends/, which list what may be in a model file.
"""

from __future__ import annotations

BROADCAST = "linalg.broadcast"
COPY = "linalg.copy"
FILL = "linalg.fill"
GENERIC = "linalg.generic"
INDEX = "linalg.index"
MATMUL = "linalg.matmul"
BATCH_MATMUL = "linalg.batch_matmul"
TRANSPOSE = "linalg.transpose"
YIELD = "linalg.yield"

CAST = "tensor.cast"
COLLAPSE_SHAPE = "tensor.collapse_shape"
CONCAT = "tensor.concat"
EMPTY = "tensor.empty"
EXPAND_SHAPE = "tensor.expand_shape"
EXTRACT = "tensor.extract"
EXTRACT_SLICE = "tensor.extract_slice"
INSERT_SLICE = "tensor.insert_slice"
PAD = "tensor.pad"
PAD_YIELD = "tensor.yield"
# They give the same elements other axes.
RESHAPES = (COLLAPSE_SHAPE, EXPAND_SHAPE)

# A function of a frontend, or of a kernel.
KERNEL_FUNCTION = "func.func"
# A function of the host program.
HOST_FUNCTION = "util.func"
FUNCTIONS = (KERNEL_FUNCTION, HOST_FUNCTION)
GLOBAL = "util.global"
GLOBAL_LOAD = "util.global.load"
GLOBAL_STORE = "util.global.store"

QUANTIZE = "iree_linalg_ext.quantize_affine"
DEQUANTIZE = "iree_linalg_ext.dequantize_affine"

# What is before it is not computed in the same dispatch as what is behind it, and no reshape moves across it.
BARRIER = "iree_tensor_ext.compute_barrier.start"
# A buffer that a kernel is given.
SUBSPAN = "hal.interface.binding.subspan"
ASSUME_ALIGNMENT = "memref.assume_alignment"
LOAD_FROM_BUFFER = "iree_codegen.load_from_buffer"
STORE_TO_BUFFER = "iree_codegen.store_to_buffer"
