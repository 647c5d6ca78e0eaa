# SPDX-License-Identifier: Apache-2.0
"""Relax modules in float between relax.quantize and relax.dequantize, made of Graphs."""

from collections.abc import Callable

import numpy as np
import tvm
from tvm import ir, relax

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.pooling import AveragePool2D

op = relax.op
Between = Callable[[relax.Expr], relax.Expr]


def constant(values: object, dtype: str) -> relax.Expr:
    return relax.const(np.asarray(values, dtype))


class Module:
    """main: float32 in; what is given to `module` out."""

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        self.builder = relax.BlockBuilder()
        self.inputs = [
            relax.Var(f"x{n}" if n else "x", relax.TensorType(shape, "float32")) for n, shape in enumerate(shapes)
        ]
        self.codes: list[relax.Var] = []

    def quantized(
        self, value: relax.Expr, scale: float, zero_point: int, name: str = "", dtype: str = "int8"
    ) -> relax.Var:
        made = self.builder.emit(
            op.quantize(value, constant(scale, "float32"), constant(zero_point, dtype), out_dtype=dtype), name
        )
        self.codes.append(made)
        return made

    def through(
        self, value: relax.Expr, scale: float, zero_point: int, name: str = "", dtype: str = "int8"
    ) -> relax.Var:
        codes = self.quantized(value, scale, zero_point, name, dtype)
        return self.builder.emit(op.dequantize(codes, constant(scale, "float32"), constant(zero_point, dtype)))

    def weights(self, codes: np.ndarray, scales: np.ndarray, axis: int = 0) -> relax.Var:
        return self.builder.emit(
            op.dequantize(
                constant(codes, codes.dtype.name),
                constant(scales, "float32"),
                constant(np.zeros(len(scales)), codes.dtype.name),
                axis=axis,
            )
        )

    def module(self, make: Callable[["Module"], relax.Expr], all_codes: bool = False) -> ir.IRModule:
        """all_codes: they come out, too."""
        builder = self.builder
        with builder.function("main", self.inputs):
            with builder.dataflow():
                made = make(self)
                made = relax.Tuple([made, *self.codes]) if all_codes else made
                result = builder.emit_output(made)
            builder.emit_func_output(result)
        return builder.get()


def module_of(graph: Graph, between: tuple[str, Between] | None = None, all_codes: bool = False) -> ir.IRModule:
    """A Graph of one input and output, channels first. between: the name of a tensor, and what its values go
    through, in float, to come back to its scale."""
    module = Module(_first(graph.input.shape))

    def make(module: Module) -> relax.Expr:
        values = {graph.input.name: module.through(module.inputs[0], *_scale(graph.input), name(graph.input))}
        for node in graph.nodes:
            (made,) = node.outputs
            real = _NODES[type(node.operator)](module, node, values[node.inputs[0].name])
            values[made.name] = module.through(real, *_scale(made), name(made))
            if between and made.name == between[0]:
                values[made.name] = module.through(
                    module.builder.emit(between[1](values[made.name])), *_scale(made), f"{name(made)}_between"
                )
        return values[graph.output.name]

    return module.module(make, all_codes)


def name(tensor: Tensor) -> str:
    return tensor.name.replace("/", "_")


def _scale(tensor: Tensor) -> tuple[float, int]:
    return tensor.quantization.scale, tensor.quantization.zero_point


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Channels."""
    batch, height, width, channels = shape
    return batch, channels, height, width


def _conv(module: Module, node: Node, source: relax.Expr) -> relax.Expr:
    operator = node.operator
    depthwise = isinstance(operator, DepthwiseConv2D)
    filters = operator.filters.transpose(2, 0, 1)[:, None] if depthwise else operator.filters.transpose(0, 3, 1, 2)
    scales = np.broadcast_to(operator.scales, operator.outputs)
    bias = module.weights(operator.bias, np.float32(node.inputs[0].quantization.scale) * scales)
    made = op.nn.conv2d(
        source,
        module.weights(np.ascontiguousarray(filters), scales),
        strides=operator.stride,
        padding=operator.pads,
        dilation=operator.dilation,
        groups=node.inputs[0].shape[-1] if depthwise else 1,
    )
    made = op.add(module.builder.emit(made), op.reshape(bias, (1, -1, 1, 1)))
    return op.nn.relu(module.builder.emit(made)) if operator.activation == "RELU" else made


def _pad(module: Module, node: Node, source: relax.Expr) -> relax.Expr:
    rows, columns = node.operator.margins[1:3]
    return op.nn.pad(source, (0, 0, 0, 0, *rows, *columns))


def _pool(module: Module, node: Node, source: relax.Expr) -> relax.Expr:
    return op.nn.avg_pool2d(source, pool_size=node.operator.kernel, strides=node.operator.stride)


_NODES = {Conv2D: _conv, DepthwiseConv2D: _conv, Pad: _pad, AveragePool2D: _pool}


def run(module: ir.IRModule, *inputs: np.ndarray) -> list[np.ndarray]:
    """On TVM's own accelerator, with what RunCodegen put there."""
    config = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    made = config["main"](*map(tvm.runtime.tensor, inputs))
    return [made.numpy()] if hasattr(made, "numpy") else [each.numpy() for each in made]
