# SPDX-License-Identifier: Apache-2.0
"""Operators as networks of one node, for the compiler and the golden model."""

import numpy as np

from eyrie.compiler.ir.graph import Graph, Malformed, Node
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected
from eyrie.compiler.ir.operators.elementwise import Add
from eyrie.compiler.ir.operators.host import Softmax
from eyrie.compiler.ir.operators.operator import Operator
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D
from eyrie.compiler.ir.operators.tables import HardSwish, LeakyRelu, Logistic, Real, Relu, Tanh
from eyrie.compiler.ir.tensor import Quantized
from eyrie.model.messages import unknown
from eyrie.operators.descriptors import (
    ActivationSetting,
    ConvolutionSetting,
    FilterSetting,
    PoolingSetting,
    TensorSetting,
)
from eyrie.operators.status import OperatorError, Status

_FUNCTIONS = {
    "RELU": lambda of: Relu(activation="RELU"),
    "RELU6": lambda of: Relu(activation="RELU6"),
    "RELU_N1_TO_1": lambda of: Relu(activation="RELU_N1_TO_1"),
    "LOGISTIC": lambda of: Logistic(),
    "LEAKY_RELU": lambda of: LeakyRelu(alpha=of.alpha),
    "TANH": lambda of: Tanh(),
    "HARD_SWISH": lambda of: HardSwish(),
    "ELU": lambda of: Real(function="ELU"),
    "EXP": lambda of: Real(function="EXP"),
}


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
    if setting.function not in _FUNCTIONS:
        raise OperatorError(Status.BAD_ARGUMENT, unknown("activation", setting.function, _FUNCTIONS))
    return _FUNCTIONS[setting.function](setting)


def addition(fused: str) -> Operator:
    return Add(activation=fused)


def softmax(beta: float) -> Operator:
    return Softmax(beta=beta)


def _scales(filters: FilterSetting) -> np.ndarray:
    return np.broadcast_to(np.asarray(filters.scales, np.float32), filters.m).copy()
