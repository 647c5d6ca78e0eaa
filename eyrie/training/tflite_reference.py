# SPDX-License-Identifier: Apache-2.0
"""Run an int8 .tflite file with TensorFlow Lite's own reference kernels.

The independent implementation that the golden model is compared with. Never the default kernels
(XNNPACK): they round differently, by up to tens of counts.
"""

from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from eyrie.model.errors import InputError


def run(model: Path | str, inputs: np.ndarray, batch: int = 50) -> np.ndarray:
    """Return the raw int8 outputs [N, ...] of int8 `inputs` [N, H, W, C].

    Raise InputError, in one line, if the file is not a model or the inputs do not fit it.
    """
    try:
        interpreter = Interpreter(str(model), num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    except (ValueError, RuntimeError) as error:
        raise InputError(f"{model}: not a TFLite model ({str(error).splitlines()[0]})") from None
    expected = interpreter.get_input_details()[0]
    if inputs.dtype != expected["dtype"] or inputs.shape[1:] != tuple(expected["shape"][1:]):
        shape = ", ".join(["N", *map(str, expected["shape"][1:])])
        raise InputError(
            f"{model}: expects {np.dtype(expected['dtype'])} [{shape}], got {inputs.dtype} {list(inputs.shape)}"
        )
    outputs = []
    for first in range(0, len(inputs), batch):
        part = inputs[first : first + batch]
        interpreter.resize_tensor_input(expected["index"], part.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(expected["index"], part)
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    return np.concatenate(outputs)
