# SPDX-License-Identifier: Apache-2.0
"""Small int8 .tflite models written straight as flatbuffers, and two independent ways to run them.

The TFLite converter is not needed: the schema's object API builds any operator with any
quantisation, also combinations that no converter would emit.
"""

from dataclasses import dataclass, field

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

MICRO_ARENA_BYTES = 1 << 20
TENSOR_TYPES = {"int8": schema.TensorType.INT8, "int32": schema.TensorType.INT32}

# Operator versions that have int8 kernels, and the class and union tag of their options.
OPERATORS = {
    "CONV_2D": (3, "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": (3, "DepthwiseConv2DOptions"),
    "FULLY_CONNECTED": (4, "FullyConnectedOptions"),
    "AVERAGE_POOL_2D": (2, "Pool2DOptions"),
    "MAX_POOL_2D": (2, "Pool2DOptions"),
    "ADD": (2, "AddOptions"),
    "PAD": (2, "PadOptions"),
    "QUANTIZE": (2, "QuantizeOptions"),
}


@dataclass
class Builder:
    """One subgraph: add tensors and operators, then `pack` to the bytes of a .tflite file."""

    tensors: list = field(default_factory=list)
    operators: list = field(default_factory=list)
    codes: list = field(default_factory=list)
    buffers: list = field(default_factory=lambda: [schema.BufferT()])  # 0 is the empty one

    def tensor(self, shape, dtype="int8", scale=None, zero_point=0, axis=0, data=None):
        """Add a tensor (constant if `data` is given) and return its index.

        `scale` is one number or one per slice of `axis`; None leaves the tensor unquantised.
        """
        tensor = schema.TensorT(
            name=f"t{len(self.tensors)}", shape=list(shape), type=TENSOR_TYPES[dtype]
        )
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            tensor.quantization = schema.QuantizationParametersT(
                scale=scales,
                zeroPoint=np.full(len(scales), zero_point, np.int64),
                quantizedDimension=axis,
            )
        if data is not None:
            raw = np.ascontiguousarray(data, dtype).reshape(shape).view(np.uint8).reshape(-1)
            tensor.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT(data=raw))
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def operator(self, name, inputs, output, **options):
        """Add the operator `name` (a key of OPERATORS); `options` are its schema fields."""
        version, options_name = OPERATORS[name]
        code = getattr(schema.BuiltinOperator, name)
        self.codes.append(
            schema.OperatorCodeT(builtinCode=code, deprecatedBuiltinCode=code, version=version)
        )
        self.operators.append(
            schema.OperatorT(
                opcodeIndex=len(self.codes) - 1,
                inputs=list(inputs),
                outputs=[output],
                builtinOptionsType=getattr(schema.BuiltinOptions, options_name),
                builtinOptions=getattr(schema, options_name + "T")(**options),
            )
        )

    def pack(self, inputs, output):
        """Return the model's bytes, with these tensor indices as inputs and output."""
        graph = schema.SubGraphT(
            name="main",
            tensors=self.tensors,
            inputs=list(inputs),
            outputs=[output],
            operators=self.operators,
        )
        model = schema.ModelT(
            version=3, operatorCodes=self.codes, subgraphs=[graph], buffers=self.buffers
        )
        packer = flatbuffers.Builder(1024)
        packer.Finish(model.Pack(packer), file_identifier=b"TFL3")
        return bytes(packer.Output())


def run_litert(model, *inputs):
    """Run model bytes with LiteRT's reference kernels (never XNNPACK, which rounds otherwise)."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def run_micro(model, *inputs):
    """Run model bytes with TensorFlow Lite Micro's reference kernels."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model, arena_size=MICRO_ARENA_BYTES)
    for index, value in enumerate(inputs):
        interpreter.set_input(value, index)
    interpreter.invoke()
    return np.array(interpreter.get_output(0))
