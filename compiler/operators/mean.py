# SPDX-License-Identifier: Apache-2.0
"""MEAN."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise, Loop
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node, map_shape
from eyrie.compiler.ir.layer import Convolution, Group, Output, Table, array_offset
from eyrie.compiler.ir.maps import Map, map_of
from eyrie.compiler.ir.operator import Arrays, Tensors, axis_of, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import sum_of_window
from eyrie.compiler.kernel_calls.axes import Walk, dense
from eyrie.compiler.kernel_calls.scales import mean_scaling, range_of, scale_of, zero_point_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.folding import CHANNELS_LAST, FROM_CHANNELS_LAST
from eyrie.compiler.operators.record import Record, Row, Shape, Site
from eyrie.model.encoding import Axis
from eyrie.model.errors import InputError
from eyrie.model.operators import pooling
from eyrie.model.operators.quantization import Requantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_MOST_AVERAGED = 2**23  # values of int8, less a zero point or more an offset, whose sum fits int32


def countable_mean(site: Site) -> str:
    """means leave axes in their places, and their number and factor fit the accelerator's fields"""
    assert isinstance(site.operator, Mean)
    maps = {tensor.name: map_of(tensor) for tensor in (*site.node.inputs, *site.node.outputs)}
    try:
        site.operator.groups(site.node, maps)
    except InputError as error:
        return str(error)
    return ""


def over_maps(call: "OnnxCall", inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Operation:
    """Return the mean over all axes after N and C, of an ONNX node."""
    return call.make("mean", inputs, outputs, axes=tuple(range(2, len(call.shape(0)))), keep=True)


def _onnx(call: "OnnxCall") -> list[Operation]:
    axes = call.listed("axes", 1) if call.lists("axes", 1) else ()
    if not axes and call.whole("noop_with_empty_axes", 0):
        return [call.make("identity", call.inputs[:1])]
    axes = axes or tuple(range(len(call.shape(0))))
    return [call.make("mean", call.inputs[:1], axes=axes, keep=bool(call.whole("keepdims", 1)))]


def _aten(call: "AtenCall") -> list[Operation]:
    rank = len(call.shape(call["self"]))
    axes = call.wholes("dim") if call.given("dim") else tuple(range(rank))
    gone, keep = tuple(call.axis(axis, rank) for axis in axes), bool(call.arguments.get("keepdim"))
    return [call.make("mean", call["self"], axes=gone, keep=keep)]


def _relax(call: "RelaxCall") -> list[Operation]:
    rank = len(call.shape(call.operand(0)))
    axes = call.numbers("axis") if call.given("axis") else tuple(range(rank))
    gone, keep = tuple(call.axis(axis, rank) for axis in axes), bool(call.whole("keepdims"))
    return [call.make("mean", call.operand(0), axes=gone, keep=keep)]


@dataclass(frozen=True, kw_only=True)
class Mean(Record):
    """MEAN over axes, which keep size 1 if `keep_axes` is set."""

    row = Row("mean", "PPU; over channels: array")
    name = "MEAN"
    schema_table = "ReducerOptions"
    schema_options = {"keep_axes": "keepDims"}
    constants = ("axes",)
    constraints = (countable_mean,)
    kind = "mean"
    onnx = {"ReduceMean": _onnx}
    aten = {"mean": _aten}
    relax = {"mean": _relax}
    clamps = False

    axes: tuple[int, ...]
    keep_axes: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape = expect(source, "int8").shape
        gone = {axis_of(axis, len(shape)) for axis in self.axes}
        return int8(
            tuple(1 if axis in gone else size for axis, size in enumerate(shape) if self.keep_axes or axis not in gone)
        )

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        count = max(inputs[0].size // max(outputs[0].size, 1), 1)
        input_, output = quantizations(*inputs, *outputs)
        pooling.mean_requantization(input_, output, count)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (pooling.mean(values[0], self.axes, self.keep_axes, *quantizations(*inputs, *outputs)),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].size

    # ---- Accelerator ----

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        """Return the fused operator: a sum of windows for rows and columns, a convolution with a filter of ones if the
        mean includes channels.

        Raise InputError for other means.
        """
        source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
        kernel = self._kernel(node.inputs[0].shape)
        window = Window(kernel[:2], stride=kernel[:2])
        scaling, zero_point = _scaling(node), quantized(node.inputs[0]).zero_point
        made = tuple(size // over for size, over in zip(source.shape, kernel))
        if kernel[2] > 1:
            if made != output.shape:
                raise InputError("channels that become columns")
            return [_over_channels(node.where, source, output, window, kernel, scaling)]
        turned = made != output.shape  # a column of means is a row
        if turned and (made[1] != 1 or (1, made[0], made[2]) != output.shape):
            raise InputError("pixels that become channels")
        walk = (Loop(source.shape[0], Axis.ROW, 1),) if turned else ()
        epilogue = (sum_of_window(prod(kernel), zero_point, scaling),)
        return [Elementwise(name=node.where, source=source, output=output, window=window, walk=walk, epilogue=epilogue)]

    def _kernel(self, source: tuple[int, ...]) -> tuple[int, int, int]:
        """Return the rows, columns and channels that the mean is over. source: shape of the tensor"""
        gone = {axis_of(axis, len(source)) - len(source) for axis in self.axes}
        rows, cols, channels = (size if axis in gone else 1 for axis, size in zip((-3, -2, -1), map_shape(source)))
        return rows, cols, channels

    # ---- C ----

    def to_c(self, node: Node, calls: Calls) -> None:
        (source,), (output,) = node.inputs, node.outputs
        rank = len(source.shape)
        averaged = sorted({axis % rank for axis in self.axes})
        left = [axis for axis in range(rank) if axis not in averaged]
        kept, gone = _along(source.shape, left), _along(source.shape, averaged)
        check_count(node, gone.count)
        settings: Fields = {"outputs": kept.count, "count": gone.count}
        for name, walk in (("kept", kept), ("averaged", gone)):
            settings |= {
                f"{name}_axes": len(walk.sizes),
                f"{name}_sizes": np.array(walk.sizes, np.int32),
                f"{name}_strides": np.array(walk.strides[0], np.int32),
            }
        settings["input_zero_point"] = zero_point_of(source)
        settings |= mean_scaling(scale_of(source) / scale_of(output), gone.count) | range_of(output)
        calls.call(node, "mean", settings, node.inputs, output)

    # ---- From float values ----

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        rank, keep = len(inputs[0]), operation.flag("keep")
        gone = {axis_of(axis, rank) for axis in operation.integers("axes")}
        return [tuple(1 if n in gone else size for n, size in enumerate(inputs[0]) if n not in gone or keep)]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the mean. A mean of means of equally many values is one mean."""
        axes, inner, keep = _axes(made), made.inputs[0], made.operation.flag("keep")
        gone = set(axes)
        while isinstance(inner, Made) and inner.kind == "mean":
            below, kept, rank = set(_axes(inner)), inner.operation.flag("keep"), len(inner.inputs[0].shape)
            if kept != keep and not (kept and below <= gone):
                break
            left = [n for n in range(rank) if kept or n not in below]
            gone = {left[axis] for axis in gone} | below
            inner = inner.inputs[0]
        source = fold.operand(inner)
        if gone == {2, 3} and len(source.axes) == 4:  # over the pixels of a map
            source = Held(fold.ordered(source, CHANNELS_LAST, made.operation.where), FROM_CHANNELS_LAST)
        over = tuple(sorted(source.axes[axis] for axis in gone))
        if keep:
            shape, result = tuple(1 if n in over else size for n, size in enumerate(source.tensor.shape)), source.axes
        else:
            left = [n for n in range(len(source.axes)) if n not in gone]
            places = sorted(source.axes[n] for n in left)
            shape = tuple(source.tensor.shape[n] for n in places)
            result = tuple(places.index(source.axes[n]) for n in left)
        operator = cls(axes=over, keep_axes=keep)
        return fold.node(made.operation.where, operator, (source.tensor,), shape, result, target)


def _axes(made: Made) -> list[int]:
    rank = len(made.inputs[0].shape)
    return sorted(axis_of(axis, rank) for axis in made.operation.integers("axes"))


def _over_channels(
    where: str, source: Map, output: Map, window: Window, kernel: tuple[int, int, int], scaling: Requantization
) -> Convolution:
    """Return the mean as a convolution with a filter of ones."""
    left = source.zero_point - array_offset(source.zero_point)
    table = Table(
        np.full(1, -left * prod(kernel), np.int32),
        np.full(1, scaling.multiplier, np.int32),
        np.full(1, scaling.shift, np.int8),
        Output(scaling.zero_point),
    )
    filters = np.ones((1, *kernel), np.int8)
    return Convolution(name=where, source=source, output=output, window=window, filters=filters, table=table)


def _scaling(node: Node) -> Requantization:
    source, output = quantizations(*node.inputs, *node.outputs)
    return pooling.mean_requantization(source, output, node.inputs[0].size // node.outputs[0].size)


def _along(shape: tuple[int, ...], axes: list[int]) -> Walk:
    steps = dense(shape)
    return Walk(tuple(shape[axis] for axis in axes), (tuple(steps[axis] for axis in axes),)).merged()


def check_count(node: Node, count: int) -> None:
    """Raise Unsupported if the sum of so many values could overflow int32 in C."""
    if count > _MOST_AVERAGED:
        raise Unsupported(
            f"{node.place}: a mean of {count:,} values",
            layer=node.where,
            demand=count,
            bound=_MOST_AVERAGED,
            remedy=f"average at most {_MOST_AVERAGED:,}",
        )
