# SPDX-License-Identifier: Apache-2.0
"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Tensors, check_same, expect, int8, only, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.kernel_calls.copies import gather_values
from eyrie.compiler.kernel_calls.scales import rounded
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.folding import CHANNELS_LAST, FROM_CHANNELS_LAST, inner, stored
from eyrie.compiler.operators.move import Move
from eyrie.compiler.operators.record import HOST, MOVE, Record, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import host, movement
from eyrie.model.operators.quantization import from_uint8, to_uint8

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call

FACTOR_BITS = 10  # after the point, of a bilinear factor in TensorFlow Lite


def _onnx(call: "OnnxCall") -> list[Operation]:
    """Translate Resize: nearest and linear, of rows and columns."""
    source, mode = call.shape(0), call.text("mode", "nearest")
    places = call.text("coordinate_transformation_mode", "half_pixel")
    nearest = call.text("nearest_mode", "round_prefer_floor")
    to = _onnx_size(call, source)
    if mode == "nearest":
        # For an integer factor, these give the same result.
        same = (("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("half_pixel", "round_prefer_ceil"))
        if any(size % before for size, before in zip(to, source)) or (places, nearest) not in same:
            raise Unsupported(f"it resizes to the nearest by {places} and {nearest}, or by parts of pixels")
        return [call.make("resize_nearest", call.inputs[:1], size=to[2:])]
    if mode != "linear" or places not in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
        raise Unsupported(f"it resizes by {mode}, {places}")
    if places == "pytorch_half_pixel" and 1 in to[2:]:
        raise Unsupported("it resizes to one pixel from the corner on")
    return [
        call.make(
            "resize_bilinear",
            call.inputs[:1],
            size=to[2:],
            align_corners=places == "align_corners",
            half_pixel="half_pixel" in places,
        )
    ]


def _onnx_size(call: "OnnxCall", source: Shape) -> Shape:
    """Return the shape of the result of a Resize. Raise Unsupported if its factors are not the ratios of sizes."""
    if call.version < 11:
        raise Unsupported(f"it is of version {call.version} of the operators, not 11")
    for name, default in (("axes", ()), ("antialias", 0), ("keep_aspect_ratio_policy", b"stretch")):
        if (call.attribute(name, default) or default) != default:
            raise Unsupported(f"it has {name}")
    if call.has(3):
        to = call.integers(3)
    else:
        factors = call.constant(2).ravel()
        to = tuple(int(np.floor(size * by)) for size, by in zip(source, factors, strict=True))
        if any(np.float32(size / of) != np.float32(by) for size, of, by in zip(to, source, factors)):
            raise Unsupported("its factors are not the ratios of sizes")
    if len(source) != 4 or to[:2] != source[:2]:
        raise Unsupported("it resizes other axes than rows and columns")
    return to


def _aten(kind: str) -> Callable[["AtenCall"], list[Operation]]:
    def translate(call: "AtenCall") -> list[Operation]:
        source, size = call.shape(call.source)[2:], call.made_shape[2:]
        for name in ("scale_factors", "scales_h", "scales_w"):
            factors = call.arguments.get(name)
            for factor in factors if isinstance(factors, (list, tuple)) else [factors]:
                if factor is not None and factor not in {made / of for made, of in zip(size, source)}:
                    raise Unsupported("its factor is not the ratio of its sizes")
        corners = bool(call.arguments.get("align_corners"))
        return [
            call.make(
                kind,
                call.source,
                size=size,
                align_corners=corners,
                half_pixel=kind == "resize_bilinear" and not corners,
            )
        ]

    return translate


@dataclass(frozen=True, kw_only=True)
class _Resize(Record):
    """An operator that resizes. size: rows, columns of the result"""

    schema_options = {"align_corners": "alignCorners", "half_pixel_centers": "halfPixelCenters"}
    constants = ("size",)
    version = 3

    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        size = call.integers(1)
        if len(size) != 2 or min(size) < 1:
            raise ModelImportError(f"a size of {' x '.join(map(str, size))}, must be rows and columns", remedy=REMEDY)
        corners, centres = bool(call.option("alignCorners")), bool(call.option("halfPixelCenters"))
        if corners and centres:
            raise Unsupported("its corners are aligned and its pixels' centres are half")
        return {"size": size, "align_corners": corners, "half_pixel_centers": centres}

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        size = operation.integers("size")
        if len(inputs[0]) != 4:
            raise InputError(f"a tensor of {times(inputs[0])} is not resized to {times(size)}")
        return [(*inputs[0][:2], *size)]

    @classmethod
    def added(cls, fold: Fold, operation: Operation, source: Held, shape: Shape, target: Target) -> Held:
        """Add the operator on a tensor, and return its output. shape: in the framework's order of axes"""
        tensor = fold.ordered(source, CHANNELS_LAST, operation.where)
        rows, columns = operation.integers("size")
        operator = cls(
            size=(rows, columns),
            align_corners=operation.flag("align_corners"),
            half_pixel_centers=operation.flag("half_pixel"),
        )
        output = stored(shape, FROM_CHANNELS_LAST)
        return fold.node(operation.where, operator, (tensor,), output, FROM_CHANNELS_LAST, target)


@dataclass(frozen=True, kw_only=True)
class ResizeNearestNeighbor(_Resize, Move):
    """RESIZE_NEAREST_NEIGHBOR."""

    row = Row("nearest-neighbour resize", MOVE)
    library = "eyrie_unpooling"
    name = "RESIZE_NEAREST_NEIGHBOR"
    kind = "resize_nearest"
    onnx = {"Resize": _onnx}
    aten = {"upsample_nearest2d": _aten("resize_nearest")}

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if len(source) != 4 or min(self.size) < 1:
            raise InputError(f"a tensor of {times(source)} is not resized to {times(self.size)}")
        return source[0], *self.size, source[3]

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.resize_nearest_neighbor(values, self.size, self.align_corners, self.half_pixel_centers)

    def to_c(self, node: Node, calls: Calls) -> None:
        sizes = zip(node.inputs[0].shape[1:3], self.size)
        gather_values(node, calls, {1 + n: self._nearest(size, wanted) for n, (size, wanted) in enumerate(sizes)})

    def _nearest(self, size: int, wanted: int) -> np.ndarray:
        """Return the source index of each of the `wanted` positions, computed in float32."""
        aligned = self.align_corners and wanted > 1
        scale = np.float32(size - aligned) / np.float32(wanted - aligned)
        offset = np.float32(0.5 if self.half_pixel_centers else 0)
        places = [float((np.float32(number) + offset) * scale) for number in range(wanted)]
        return np.array([min(rounded(place) if self.align_corners else int(place), size - 1) for place in places])

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        return cls.added(fold, made.operation, inner(fold, made, target), made.shape, target)


@dataclass(frozen=True, kw_only=True)
class ResizeBilinear(_Resize):
    """RESIZE_BILINEAR."""

    row = Row("bilinear resize", HOST)
    name = "RESIZE_BILINEAR"
    kind = "resize_bilinear"
    onnx = {"Resize": _onnx}
    aten = {"upsample_bilinear2d": _aten("resize_bilinear")}
    clamps = False

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        call.quantized_output()
        return (call.quantized(0),)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        batch, _, _, channels = expect(source, "int8", 4).shape
        rows, columns = self.size
        return int8((batch, rows, columns, channels))

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        unsigned = isinstance(inputs[0], Quantized) and inputs[0].unsigned
        if unsigned:
            made = host.resize_bilinear_uint8(
                to_uint8(values[0]), self.size, self.align_corners, self.half_pixel_centers
            )
            return (from_uint8(made),)
        return (host.resize_bilinear(values[0], self.size, self.align_corners, self.half_pixel_centers),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return 4 * outputs[0].size

    def to_c(self, node: Node, calls: Calls) -> None:
        batch, height, width, channels = node.inputs[0].shape
        rows, columns = self.size
        settings: Fields = {"N": batch, "H": height, "W": width, "C": channels, "E": rows, "F": columns}
        unsigned = quantized(node.inputs[0]).unsigned
        for name, size, wanted in (("row_scale", height, rows), ("column_scale", width, columns)):
            aligned = int(self.align_corners and wanted > 1)
            size, wanted = size - aligned, wanted - aligned
            settings[name] = (
                np.float32(size) / np.float32(wanted) if unsigned else ((size << FACTOR_BITS) + wanted // 2) // wanted
            )
        settings["half_pixel_centers"] = int(self.half_pixel_centers)
        kernel = "resize_bilinear_float" if unsigned else "resize_bilinear"
        calls.call(node, kernel, settings, node.inputs, node.outputs[0])

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the interpolated codes in the scale of the input, then rescaled to the target.

        Raise Unsupported if the integers of TensorFlow Lite are less exact: factors have 10 bits after the point.
        """
        source, corners = fold.operand(made.inputs[0]), made.operation.flag("align_corners")
        for size, to in zip(source.shape[2:], made.operation.integers("size")):
            aligned = int(corners and to > 1)
            if (size - aligned << FACTOR_BITS) % (to - aligned):
                raise Unsupported(f"its factor is not a multiple of 1 / {1 << FACTOR_BITS}")
        if target.quantization.scale < source.quantization.scale:
            raise Unsupported("its result has a finer scale")
        held = cls.added(fold, made.operation, source, made.shape, Target(source.quantization, made.name))
        return fold.rescaled(made.operation, held, target)
