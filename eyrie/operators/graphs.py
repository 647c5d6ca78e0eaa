# SPDX-License-Identifier: Apache-2.0
"""Operators as networks of one node, for the compiler and the golden model."""

import numpy as np

from eyrie.compiler.ir.graph import Graph, Malformed, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D
from eyrie.compiler.operators.elementwise import Add
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.host import Softmax
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.pooling import AveragePool2D, MaxPool2D
from eyrie.compiler.operators.registry import functions_of_one_value, tflite_names
from eyrie.model.messages import unknown
from eyrie.operators.descriptors import (
    ActivationSetting,
    ConvolutionSetting,
    FilterSetting,
    PoolingSetting,
    TensorSetting,
)
from eyrie.operators.status import OperatorError, Status


def graph_of(operator: Operator, inputs: tuple[TensorSetting, ...], output: TensorSetting) -> Graph:
    """Return the graph of an operator for one map of each tensor. Raise OperatorError if the settings do not match."""
    taken = tuple(setting.tensor(f"input{n}") for n, setting in enumerate(inputs))
    made = output.tensor("output")
    if isinstance(operator, FullyConnected):
        made = Quantized(
            name=made.name, shape=(1, output.h * output.w * output.c), dtype="int8", quantization=made.quantization
        )
    try:
        graph = Graph(taken, (Node(operator, "#0", taken, (made,)),), (made,))
        return graph.verified()
    except Malformed as error:
        raise OperatorError(Status.BAD_DESCRIPTOR, error.what) from error


def convolution(
    setting: ConvolutionSetting, channels: int, filters: FilterSetting, values: np.ndarray, bias: np.ndarray
) -> Operator:
    """Return a convolution; `values` are int8 of the filters' shape, `bias` int32 [m], `channels` of the input."""
    if filters.c * setting.groups != channels:
        raise OperatorError(
            Status.BAD_DESCRIPTOR,
            f"filters of {filters.c} channels in {setting.groups} groups do not "
            f"go with an input of {channels} channels",
        )
    kind: type[Conv2D | DepthwiseConv2D] = Conv2D
    if setting.groups == channels > 1:
        kind, values = DepthwiseConv2D, np.ascontiguousarray(values[..., 0].transpose(1, 2, 0))
    return kind(
        filters=values,
        scales=_scales(filters),
        bias=bias,
        activation=setting.activation,
        stride=setting.stride,
        dilation=setting.dilation,
        pads=setting.pads,
    )


def fully_connected(filters: FilterSetting, values: np.ndarray, bias: np.ndarray) -> Operator:
    return FullyConnected(filters=values.reshape(filters.m, -1), scales=_scales(filters), bias=bias)


def pooling(setting: PoolingSetting) -> Operator:
    kind = MaxPool2D if setting.kind == "max" else AveragePool2D
    return kind(kernel=setting.kernel, stride=setting.stride, pads=setting.pads)


def activation(setting: ActivationSetting) -> Operator:
    functions = {name: record for record in functions_of_one_value() for name in _activations(record)}
    if setting.function not in functions:
        raise OperatorError(Status.BAD_ARGUMENT, unknown("activation", setting.function, functions))
    return functions[setting.function].of_library(setting.function, setting.alpha)


def _activations(record: type[Function]) -> tuple[str, ...]:
    """Return the names of a function of one value in the operator library."""
    return tflite_names(record) if record.library == "eyrie_activation" else ()


def addition(fused: str) -> Operator:
    return Add(activation=fused)


def softmax(beta: float) -> Operator:
    return Softmax(beta=beta)


def _scales(filters: FilterSetting) -> np.ndarray:
    return np.broadcast_to(np.asarray(filters.scales, np.float32), filters.m).copy()
