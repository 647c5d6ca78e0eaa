# SPDX-License-Identifier: Apache-2.0
"""Operators as networks of one node, for the compiler and the golden model."""

from dataclasses import replace
from math import prod

import numpy as np

from eyrie.compiler.ir.graph import Graph, Malformed, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.operators.cells import LstmCell
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D
from eyrie.compiler.operators.elementwise import FloatArithmetic
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.host import Softmax
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.normalization import LocalResponseNormalization
from eyrie.compiler.operators.pooling import AveragePool2D, MaxPool2D
from eyrie.compiler.operators.record import Record
from eyrie.compiler.operators.registry import of_tflite, records
from eyrie.compiler.operators.resize import ResizeNearestNeighbor
from eyrie.compiler.operators.transposed_convolution import TransposeConv
from eyrie.model.messages import unknown
from eyrie.model.operators.quantization import Quantization
from eyrie.operators.descriptors import (
    ActivationSetting,
    ConvolutionSetting,
    FilterSetting,
    LstmSetting,
    NormalizationSetting,
    PoolingSetting,
    TensorSetting,
)
from eyrie.operators.status import OperatorError, Status

OUTPUTS = "output", "output1"


def graph_of(operator: Operator, inputs: tuple[TensorSetting, ...], *outputs: TensorSetting) -> Graph:
    """Return the graph of an operator for one map of each tensor. Raise OperatorError if the settings do not match."""
    taken = tuple(setting.tensor(f"input{n}") for n, setting in enumerate(inputs))
    made = tuple(setting.tensor(name) for name, setting in zip(OUTPUTS, outputs))
    if isinstance(operator, FullyConnected):
        made = tuple(replace(tensor, shape=(1, prod(tensor.shape))) for tensor in made)
    try:
        graph = Graph(taken, (Node(operator, "#0", taken, made),), made)
        return graph.verified()
    except Malformed as error:
        raise OperatorError(Status.BAD_DESCRIPTOR, error.what) from error


def convolution(
    setting: ConvolutionSetting, given: TensorSetting, filters: FilterSetting, values: np.ndarray, bias: np.ndarray
) -> Operator:
    """Return a convolution. given: the input; values: int8 of the filters' shape; bias: int32 [m]"""
    _check_channels(setting, given, filters)
    kind: type[Conv2D | DepthwiseConv2D] = Conv2D
    if setting.groups == given.c > 1:
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


def transposed_convolution(
    setting: ConvolutionSetting, given: TensorSetting, filters: FilterSetting, values: np.ndarray, bias: np.ndarray
) -> Operator:
    """Return a transposed convolution. It has the arguments of `convolution`."""
    _check_channels(setting, given, filters)
    if (setting.dilation, setting.groups, setting.activation) != ((1, 1), 1, "NONE"):
        raise OperatorError(
            Status.BAD_DESCRIPTOR,
            "if a convolution is transposed, its dilation is (1, 1), its groups are 1 and its activation is NONE",
        )
    (top, bottom, left, right), (stride_h, stride_w) = setting.pads, setting.stride
    pads, taps = (max(top, bottom), max(left, right)), (filters.r, filters.s)
    if any(pad // step >= -(-count // step) for pad, step, count in zip(pads, setting.stride, taps, strict=True)):
        raise OperatorError(
            Status.BAD_DESCRIPTOR, f"pads = {setting.pads} are larger than filters of {filters.r} x {filters.s}"
        )
    to = (given.h - 1) * stride_h + filters.r - top - bottom, (given.w - 1) * stride_w + filters.s - left - right
    if min(to) < 1:
        raise OperatorError(Status.BAD_DESCRIPTOR, f"pads = {setting.pads} leave no output")
    return TransposeConv(
        filters=values, scales=_scales(filters), bias=bias, stride=setting.stride, to=to, pads=(top, left)
    )


def _check_channels(setting: ConvolutionSetting, given: TensorSetting, filters: FilterSetting) -> None:
    if filters.c * setting.groups != given.c:
        raise OperatorError(
            Status.BAD_DESCRIPTOR,
            f"filters of {filters.c} channels in {setting.groups} groups do not go with an input of {given.c} channels",
        )


def fully_connected(filters: FilterSetting, values: np.ndarray, bias: np.ndarray) -> Operator:
    return FullyConnected(filters=_matrix(filters, values), scales=_scales(filters), bias=bias)


def pooling(setting: PoolingSetting) -> Operator:
    kind = MaxPool2D if setting.kind == "max" else AveragePool2D
    return kind(kernel=setting.kernel, stride=setting.stride, pads=setting.pads)


def unpooling(given: TensorSetting, output: TensorSetting) -> Operator:
    """Return an operator that fills a window of the output with each value of the input."""
    if output.h % given.h or output.w % given.w:
        raise OperatorError(
            Status.BAD_DESCRIPTOR,
            f"the output has {output.h} x {output.w} pixels, no multiples of the input's {given.h} x {given.w}",
        )
    return ResizeNearestNeighbor(size=(output.h, output.w))


def activation(setting: ActivationSetting) -> Operator:
    functions = {
        name: record
        for name, record in of_tflite().items()
        if issubclass(record, Function) and record.library == "eyrie_activation"
    }
    if setting.function not in functions:
        raise OperatorError(Status.BAD_ARGUMENT, unknown("activation", setting.function, functions))
    return functions[setting.function].of_library(setting.function, setting.alpha)


def arithmetic(kind: str, fused: str) -> Operator:
    """Return an operator of two tensors: ADD, SUB or MUL with a fused activation, or another one without."""
    for name, value in (("kind", kind), ("activation", fused)):
        if not isinstance(value, str):
            raise OperatorError(Status.BAD_ARGUMENT, f"{name} = {value}: must be a name")
    kinds = {
        str(record.name): record
        for record in records()
        if issubclass(record, Record) and record.library == "eyrie_arithmetic"
    }
    if kind not in kinds:
        raise OperatorError(Status.BAD_ARGUMENT, unknown("arithmetic", kind, kinds))
    record = kinds[kind]
    if fused == "NONE":
        return record()
    if issubclass(record, FloatArithmetic):
        return record.with_activation(fused)
    raise OperatorError(Status.BAD_ARGUMENT, f"activation = {fused}: {kind} is not fused with one: give NONE")


def local_response_normalization(setting: NormalizationSetting) -> Operator:
    return LocalResponseNormalization(radius=setting.radius, alpha=setting.alpha, beta=setting.beta, k=setting.k)


def lstm_cell(setting: LstmSetting, filters: FilterSetting, values: np.ndarray, bias: np.ndarray) -> Operator:
    return LstmCell(
        filters=_matrix(filters, values),
        scales=_scales(filters),
        bias=bias,
        sums=Quantization(setting.scale, setting.zero_point),
    )


def concatenation() -> Operator:
    return Concatenation(axis=3)


def softmax(beta: float) -> Operator:
    if not isinstance(beta, (int, float)):
        raise OperatorError(Status.BAD_ARGUMENT, f"beta = {beta!r}: must be a number")
    return Softmax(beta=beta)


def _matrix(filters: FilterSetting, values: np.ndarray) -> np.ndarray:
    if (filters.r, filters.s) != (1, 1):
        raise OperatorError(
            Status.BAD_DESCRIPTOR,
            f"the filters have {filters.r} x {filters.s} taps, the operator has no window: give filters of 1 x 1",
        )
    return values.reshape(filters.m, -1)


def _scales(filters: FilterSetting) -> np.ndarray:
    return np.broadcast_to(np.asarray(filters.scales, np.float32), filters.m).copy()
