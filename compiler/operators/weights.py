# SPDX-License-Identifier: Apache-2.0
"""The base class of operators with weights."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.layer import Output, Pointwise, Table, array_offset
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Tensors, quantizations, quantized
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.kernel_calls.scales import INT8, range_of, scale_of, scalings, zero_point_of
from eyrie.compiler.kernel_calls.steps import Fields
from eyrie.compiler.operators.record import Record
from eyrie.model.messages import times
from eyrie.model.operators.convolution import fold_zero_point
from eyrie.model.operators.quantization import Requantization, requantization, uint8_requantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File

UINT8_MAX = 255
INT32 = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Record):
    """An operator that sums products with constant filters, and rescales the sums.

    filters     int8, or int16 if uint8 filters less their zero point do not fit int8
    scales      float32 of the filters, [M] or [1]
    bias        int32 [M], zero if the model has none
    activation  the fused activation, by its name in the schema
    unsigned    the model has the operator in uint8, whose kernels compute a little differently

    output_axis: of the outputs in the filters
    """

    output_axis: ClassVar[int] = 0

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    activation: str = "NONE"
    unsigned: bool = False

    @property
    def outputs(self) -> int:
        """Return M."""
        return len(self.bias)

    def requantization(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        """Return the quantisation parameters of the sums; multipliers and shifts are [M]."""
        input_, output = quantizations(inputs[0], outputs[0])
        rescale = uint8_requantization if self.unsigned else requantization
        return rescale(input_, np.broadcast_to(self.scales, self.outputs), output, self.activation)

    def fixed_point(self, inputs: Tensors, outputs: Tensors) -> Requantization | None:
        """Return the fixed-point parameters that reproduce the model's kernel, None if no parameters do."""
        return self.requantization(inputs, outputs)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.requantization(inputs, outputs)

    @abstractmethod
    def macs(self, inputs: Tensors, outputs: Tensors) -> int: ...

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return self.macs(inputs, outputs)

    # ---- Accelerator ----

    def is_pointwise(self, node: Node) -> bool:
        """Return whether the operator is a pointwise convolution of the feature map in its shape."""
        return False

    @property
    def flat_filters(self) -> np.ndarray:
        """Return the filters of a pointwise convolution, [M, C]."""
        return self.filters.reshape(len(self.filters), -1)

    def layer_table(self, node: Node) -> Table:
        """Return the quantisation parameters of the layer."""
        zero_point = quantized(node.inputs[0]).zero_point
        left = zero_point - array_offset(zero_point)
        bias = fold_zero_point(self.bias, self.filters, left, channel_axis=self.output_axis)
        limits = self.fixed_point(node.inputs, node.outputs)
        assert limits is not None  # a constraint of FULLY_CONNECTED
        count = len(bias)
        return Table(
            np.asarray(bias, np.int32),
            np.broadcast_to(np.asarray(limits.multiplier, np.int32), count),
            np.broadcast_to(np.asarray(limits.shift, np.int8), count),
            Output(int(limits.zero_point), int(limits.minimum), int(limits.maximum)),
        )

    def pointwise_group(self, node: Node, maps: Mapping[str, Map]) -> Pointwise:
        """Return the fused operator of a pointwise convolution."""
        source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
        table = self.layer_table(node)
        return Pointwise(name=node.where, source=source, output=output, filters=self.flat_filters, table=table)

    # ---- TensorFlow Lite ----

    def write_weights(
        self, node: Node, file: "File", source: Quantized, options: dict, filters: np.ndarray, axis: int = 0
    ) -> None:
        """Add the operator to a file. filters: in the file's order of axes; axis: of the outputs in them"""
        weights = self.written_weights(node, file, source, filters, axis)
        options = {"fusedActivationFunction": self.activation, **options}
        file.operator(node, self.name, options, inputs=(source,), others=weights)

    def written_weights(
        self, node: Node, file: "File", source: Quantized, filters: np.ndarray, axis: int = 0
    ) -> tuple[int, int]:
        """Add filters and bias to a file; return their indices."""
        if self.filters.dtype != np.int8:
            raise Unsupported(f"its filters are {self.filters.dtype}, not int8")
        scales, name = self.scales.astype(np.float32), node.outputs[0].name
        return (
            file.constant(f"{name}/filters", filters, scales, axis),
            file.constant(f"{name}/bias", self.bias, np.float32(source.quantization.scale) * scales),
        )

    # ---- C ----

    def weight_fields(self, node: Node) -> Fields:
        """Return the fields of filters and bias.

        Filters that do not fit int8 are uint8 and have a zero point. Raise Unsupported if a sum, or a partial sum,
        could overflow int32.
        """
        filters, zero_point = self.filters, 0
        self._check_sums(node)
        if filters.dtype != np.int8:
            zero_point = INT8[0] - int(filters.min())
            filters = (filters + zero_point).astype(np.int8)
        return {
            "input_zero_point": zero_point_of(node.inputs[0]),
            "filter_zero_point": zero_point,
            "filters": filters,
            "bias": self.bias,
        }

    def _check_sums(self, node: Node) -> None:
        filters = np.moveaxis(self.filters, self.output_axis, 0).reshape(self.outputs, -1).astype(np.int64)
        ends = [end - zero_point_of(node.inputs[0]) for end in INT8]
        products = np.sort([filters * end for end in ends], axis=0)
        least, most = np.minimum(products[0], 0).sum(axis=1), np.maximum(products[1], 0).sum(axis=1)
        bias = self.bias.astype(np.int64)
        outside = np.flatnonzero((bias + least < INT32[0]) | (bias + most > INT32[1]))
        if len(outside):
            raise Unsupported(
                f"{node.place}: sums of output {outside[0]} can leave int32",
                layer=node.where,
                remedy="quantise the model again, with a smaller bias",
            )

    def scaling_fields(self, node: Node) -> Fields:
        """Return the fields that rescale the sums."""
        return scalings(self.factors(node)) | range_of(node.outputs[0], self.activation)

    def factors(self, node: Node) -> np.ndarray:
        """Return the factors of the sums, double [M]."""
        products = scale_of(node.inputs[0]) * self.scales.astype(np.float64)
        return np.broadcast_to(products / scale_of(node.outputs[0]), self.outputs)


# ---- TensorFlow Lite ----


def read_filters(call: "Call", axes: int) -> np.ndarray:
    """Return the filters as the file has them. Raise Unsupported for other types, ModelImportError for a wrong
    shape."""
    call.quantized_output()
    filters = call.constant(1)
    if filters.dtype != (np.uint8 if call.unsigned else np.int8):
        raise Unsupported(f"filters are {filters.dtype}, not {'uint8' if call.unsigned else 'int8'}")
    if filters.ndim != axes:
        raise ModelImportError(f"filters of {times(filters.shape)}, must have {axes} axes", remedy=REMEDY)
    return filters


def read_weights(call: "Call", filters: np.ndarray, outputs: int, bias_input: int = 2) -> dict:
    """Return the attributes of all operators with weights. bias_input: the number of the bias, which may be missing"""
    scales, zero_points = call.reader.scales(call.inputs[1], outputs)
    if call.unsigned:
        filters = _without_zero_point(filters, zero_points)
    elif zero_points.any():
        raise Unsupported("filters with a zero point: quantise them symmetrically")
    bias, activation = _bias(call, outputs, bias_input), call.fused()
    return {
        "filters": filters,
        "scales": scales,
        "bias": bias,
        "activation": activation,
        "unsigned": call.unsigned,
    }


def _without_zero_point(filters: np.ndarray, zero_points: np.ndarray) -> np.ndarray:
    """Return uint8 filters less their zero point: int8 if all fit, else int16."""
    zero_point, *others = sorted({0} if not len(zero_points) else set(zero_points.tolist()))
    if others:
        raise Unsupported("uint8 filters with a zero point of each channel: quantise them with one")
    if not 0 <= zero_point <= UINT8_MAX:
        raise ModelImportError(f"uint8 filters with zero point {zero_point}, must be 0 to {UINT8_MAX}", remedy=REMEDY)
    centred = filters.astype(np.int16) - np.int16(zero_point)
    narrow = centred.astype(np.int8)
    return narrow if (narrow == centred).all() else centred


def _bias(call: "Call", outputs: int, number: int) -> np.ndarray:
    if not call.has(number):
        return np.zeros(outputs, np.int32)
    bias = call.constant(number)
    if bias.dtype != np.int32:
        raise Unsupported(f"its bias is {bias.dtype}, not int32")
    if bias.size != outputs:
        raise ModelImportError(f"{bias.size} biases for {outputs} channels", remedy=REMEDY)
    return bias.reshape(outputs)
