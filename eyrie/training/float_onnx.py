# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float ONNX models to int8, by onnxruntime (the extra `onnx`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL, disable, root
from pathlib import Path
from tempfile import TemporaryDirectory
from warnings import catch_warnings

import numpy as np

from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.model.interpreters import APART, ONNXRUNTIME
from eyrie.model.messages import one_line
from eyrie.training.cost import Samples


class _Reader:
    """The samples, one after the other, as the quantizer asks for them."""

    def __init__(self, names: list[str], samples: Samples) -> None:
        self._rest = iter([dict(zip(names, values, strict=True)) for values in samples])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rest, None)


def quantized(model: bytes, samples: Samples) -> bytes:
    """Return the int8 model, in the form QDQ: weights by channel and symmetric, activations by the range that the
    samples have.

    Raise CompileError if onnxruntime is not installed, InputError if it cannot quantise the model.
    """
    onnx = require("onnx")
    quantization = require("onnxruntime.quantization", "onnx")
    before = require("onnxruntime.quantization.shape_inference", "onnx")
    loaded = onnx.load_model_from_string(model)
    if any("QuantizeLinear" in node.op_type or node.op_type.startswith("QLinear") for node in loaded.graph.node):
        raise InputError("it is quantised already: give a float model")
    version = next((each.version for each in loaded.opset_import if not each.domain), 1)
    if version < 13:
        raise InputError(f"it has operator set {version}, at least 13 is needed: export it again")
    constants = {each.name for each in loaded.graph.initializer}
    names = [each.name for each in loaded.graph.input if each.name not in constants]
    with TemporaryDirectory() as folder, _silent():
        given, prepared, made = (Path(folder) / f"{name}.onnx" for name in ("given", "prepared", "made"))
        given.write_bytes(model)
        try:
            before.quant_pre_process(str(given), str(prepared), skip_symbolic_shape=True)
            quantization.quantize_static(
                str(prepared),
                str(made),
                _Reader(names, samples),
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                activation_type=quantization.QuantType.QInt8,
                weight_type=quantization.QuantType.QInt8,
            )
        except Exception as error:  # its own, of no common class
            said = one_line(next(iter(str(error).splitlines()), type(error).__name__))
            raise InputError(f"onnxruntime does not quantise it ({said}): use the training framework") from error
        return made.read_bytes()


def first_outputs(model: bytes, samples: Samples) -> np.ndarray:
    """Return the first output of each sample, by onnxruntime."""
    return np.stack([outputs[0] for outputs in APART.run(ONNXRUNTIME, model, samples)])


@contextmanager
def _silent() -> Iterator[None]:
    """Leave out warnings and what the package logs."""
    before = root.manager.disable
    disable(CRITICAL)
    try:
        with catch_warnings(action="ignore"):
            yield
    finally:
        disable(before)
