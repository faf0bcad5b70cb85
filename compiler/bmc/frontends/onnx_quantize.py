"""`--quantize int8` for ONNX: onnxruntime's static quantization to a QDQ model.

Weights become int8, symmetric, with one scale per output channel. Activations become int8 with a zero
point.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc import factory, spec
from bmc.errors import BmcError
from bmc.frontends import quiet
from bmc.frontends.onnx_file import OnnxFile


def quantize(file: OnnxFile, calibration: tuple[spec.Case, ...]) -> OnnxFile:
    """Returns the file with quantize and dequantize ops around every product.

    Raises:
      BmcError: there is no calibration data, or onnxruntime fails.
    """
    if not calibration:
        raise BmcError(
            "no-calibration",
            "quantizing to int8 needs calibration data",
            hint="give Cases.calibration: a few dozen inputs like those the model will get",
        )
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    names = [info.name for info in file.inputs]
    feeds = iter([dict(zip(names, case, strict=True)) for case in calibration])

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> Any:
            return next(feeds, None)

    with tempfile.TemporaryDirectory() as work:
        prepared, quantized = Path(work) / "prepared.onnx", Path(work) / "quantized.onnx"
        try:
            with quiet.native(), quiet.python():
                # This folds batch norms into the convolutions before them.
                shape_inference.quant_pre_process(file.model, prepared, skip_symbolic_shape=True)
                quantization.quantize_static(
                    prepared,
                    quantized,
                    Reader(),
                    quant_format=quantization.QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=quantization.QuantType.QInt8,
                    weight_type=quantization.QuantType.QInt8,
                )
        except Exception as error:
            raise BmcError(
                "quantize-failed",
                f"onnxruntime cannot quantize '{file.name}': {factory.first_line(error)[:300]}",
            ) from None
        return replace(file, model=onnx.load(quantized))
