# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float `.tflite` models to int8, by ai-edge-quantizer (the extra `quantize`)."""

from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from warnings import catch_warnings

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from eyrie.compiler.frontend.extra import require
from eyrie.compiler.frontend.tflite.contents import operator_number, packed
from eyrie.model.errors import InputError
from eyrie.model.operators.host import dequantize, quantize
from eyrie.model.operators.quantization import Quantization
from eyrie.training.cost import Samples

_SIGNATURE = "serving_default"


def quantized(model: bytes, samples: Samples) -> bytes:
    """Return the int8 model: filters by channel and symmetric, activations by the range that the samples have.

    Raise CompileError if ai-edge-quantizer is not installed, InputError if it cannot quantise the model.
    """
    quantizer = require("ai_edge_quantizer.quantizer", "quantize")
    recipe = require("ai_edge_quantizer.recipe", "quantize")
    prepared, ranges = _with_signature(model), dict[str, dict]()
    try:
        # The package prints its progress, and warns of an option that it sets itself.
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), catch_warnings(action="ignore"):
            made = quantizer.Quantizer(bytearray(prepared), recipe.static_wi8_ai8())
            for values in samples:  # by itself: the package averages over samples
                named = {f"input{n}": value for n, value in enumerate(values)}
                _widen(ranges, made.calibrate({_SIGNATURE: [named]}))
            return bytes(made.quantize(ranges).quantized_model)
    except (RuntimeError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"ai-edge-quantizer does not quantise it ({said}): use the training framework") from error


def _widen(ranges: dict[str, dict], more: dict[str, dict]) -> None:
    """Widen the ranges of tensors by a sample's."""
    for name, found in more.items():
        known = ranges.setdefault(name, found)
        known |= {end: of(known[end], found[end]) for end, of in (("min", np.minimum), ("max", np.maximum))}


def first_outputs(model: bytes, samples: Samples) -> np.ndarray:
    """Return the first output of each sample in real numbers, by LiteRT."""
    return np.stack([_first_output(model, values) for values in samples])


def _first_output(model: bytes, values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the first output in real numbers, for inputs in real numbers."""
    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(details["index"], _codes(value, details))
    interpreter.invoke()
    made = interpreter.get_output_details()[0]
    found = interpreter.get_tensor(made["index"])
    return dequantize(found, Quantization(*made["quantization"])) if found.dtype == np.int8 else found


def _codes(value: np.ndarray, details: dict) -> np.ndarray:
    return quantize(value, Quantization(*details["quantization"])) if details["dtype"] == np.int8 else value


def _with_signature(model: bytes) -> bytes:
    """Return the model with one signature and with the codes of operators where ai-edge-quantizer reads them: files of
    older converters lack both."""
    made = schema.ModelT.InitFromPackedBuf(model, 0)
    graph, signature = made.subgraphs[0], schema.SignatureDefT()
    for code in made.operatorCodes:
        code.builtinCode = operator_number(code)
    signature.signatureKey, signature.subgraphIndex = _SIGNATURE, 0
    signature.inputs, signature.outputs = (
        [schema.TensorMapT(name=f"{end}{n}", tensorIndex=int(index)) for n, index in enumerate(indices)]
        for end, indices in (("input", graph.inputs), ("output", graph.outputs))
    )
    made.signatureDefs = [signature]
    return packed(made)
