# SPDX-License-Identifier: Apache-2.0
"""Small .tflite models written straight as flatbuffers.

The TFLite converter is not needed: the schema's object API builds any operator with any
quantisation, also combinations that no converter would emit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.frontend.tflite.options import options_table
from eyrie.compiler.operators.registry import version_of

TENSOR_TYPES = {
    name: getattr(schema.TensorType, name.upper())
    for name in ("int8", "uint8", "int16", "int32", "int64", "float32", "bool", "uint32", "resource")
}

# Options of a convolution that takes every pixel, as SAME padding has it.
STEPS = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}


@dataclass
class Builder:
    """One subgraph: add tensors and operators, then `pack` to the bytes of a .tflite file."""

    tensors: list = field(default_factory=list)
    operators: list = field(default_factory=list)
    codes: list = field(default_factory=list)
    buffers: list = field(default_factory=lambda: [schema.BufferT()])  # 0 is the empty one

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: ArrayLike | None = None,
        zero_point: ArrayLike = 0,
        axis: int = 0,
        data: ArrayLike | None = None,
    ) -> int:
        """Add a tensor (constant if `data` is given) and return its index.

        `scale` is one number or one per slice of `axis`; None leaves the tensor unquantised.
        """
        tensor = schema.TensorT(name=f"t{len(self.tensors)}", shape=list(map(int, shape)), type=TENSOR_TYPES[dtype])
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            tensor.quantization = schema.QuantizationParametersT(
                scale=scales,
                zeroPoint=np.full(len(scales), zero_point, np.int64),
                quantizedDimension=axis,
            )
        if data is not None:
            raw = np.ascontiguousarray(data, dtype).reshape(shape).reshape(-1).view(np.uint8)
            tensor.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT(data=raw))
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def operator(self, name: str, inputs: Iterable[int], outputs: Iterable[int], **options: object) -> None:
        """Add the operator `name` of the schema; `options` are its fields there."""
        code = getattr(schema.BuiltinOperator, name)
        self.codes.append(
            schema.OperatorCodeT(builtinCode=code, deprecatedBuiltinCode=min(code, 127), version=version_of(name))
        )
        operator = schema.OperatorT(opcodeIndex=len(self.codes) - 1, inputs=list(inputs), outputs=list(outputs))
        if kind := options_table(name):
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            operator.builtinOptions = getattr(schema, kind + "T")(**options)
        self.operators.append(operator)

    def custom(self, name: str, inputs: Iterable[int], outputs: Iterable[int], options: bytes = b"") -> None:
        """Add the custom operator `name`."""
        number = schema.BuiltinOperator.CUSTOM
        self.codes.append(schema.OperatorCodeT(builtinCode=number, deprecatedBuiltinCode=number, customCode=name))
        self.operators.append(
            schema.OperatorT(
                opcodeIndex=len(self.codes) - 1, inputs=list(inputs), outputs=list(outputs), customOptions=list(options)
            )
        )

    def pack(self, inputs: Iterable[int], outputs: Iterable[int]) -> bytes:
        """Return the model's bytes, with these tensor indices as inputs and outputs."""
        graph = schema.SubGraphT(
            name="main",
            tensors=self.tensors,
            inputs=list(inputs),
            outputs=list(outputs),
            operators=self.operators,
        )
        model = schema.ModelT(version=3, operatorCodes=self.codes, subgraphs=[graph], buffers=self.buffers)
        return packed(model)
