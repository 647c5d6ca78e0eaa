# SPDX-License-Identifier: Apache-2.0
"""Importers of data-movement operators."""

from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.file import ModelImportError
from eyrie.compiler.frontend.tflite.reader import Call, Imported, Importer
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.operators import movement
from eyrie.compiler.ir.tensor import Quantized, QuantizedConstant

_MIRROR = {schema.MirrorPadMode.REFLECT: "REFLECT", schema.MirrorPadMode.SYMMETRIC: "SYMMETRIC"}


def _reshape(name: str) -> Importer:
    """Return the importer of an operator that reshapes. Shapes are fixed, so that it takes the output's shape."""

    def make(call: Call) -> Imported:
        return (call.tensor(0),), movement.Reshape(to=call.reader.shape(call.outputs[0]), operator=name)

    return make


def transpose(call: Call) -> Imported:
    return (call.tensor(0),), movement.Transpose(axes=call.integers(1))


def pad(call: Call) -> Imported:
    """Import PAD, which fills with the zero point."""
    source = call.quantized(0)
    return (source,), movement.Pad(margins=_margins(call), value=source.zero_point)


def pad_v2(call: Call) -> Imported:
    source, value = call.quantized(0), call.quantized(2)
    if not isinstance(value, QuantizedConstant) or value.size != 1:
        raise Unsupported("its fill value is not one constant")
    if value.quantization != source.quantization:
        raise Unsupported("its fill value has another scale or zero point")
    return (source,), movement.Pad(margins=_margins(call), value=int(value.data.ravel()[0]))


def mirror_pad(call: Call) -> Imported:
    return (call.tensor(0),), movement.MirrorPad(margins=_margins(call), mode=_MIRROR[call.option("mode")])


def _margins(call: Call) -> tuple[tuple[int, int], ...]:
    values = call.integers(1)
    if len(values) % 2:
        raise ModelImportError(f"{len(values)} margins, must be two for each axis", remedy=REMEDY)
    return tuple(zip(values[::2], values[1::2]))


def tile(call: Call) -> Imported:
    return (call.tensor(0),), movement.Tile(multiples=call.integers(1))


def slice_(call: Call) -> Imported:
    return (call.tensor(0),), movement.Slice(begin=call.integers(1), size=call.integers(2))


def strided_slice(call: Call) -> Imported:
    if call.option("offset", 0):
        raise Unsupported("its ends count from its begin")
    return (call.tensor(0),), movement.StridedSlice(
        begin=call.integers(1),
        end=call.integers(2),
        strides=call.integers(3),
        begin_mask=call.option("beginMask"),
        end_mask=call.option("endMask"),
        ellipsis_mask=call.option("ellipsisMask"),
        new_axis_mask=call.option("newAxisMask"),
        shrink_axis_mask=call.option("shrinkAxisMask"),
    )


def gather(call: Call) -> Imported:
    if call.option("batchDims"):
        raise Unsupported("it has batch dimensions")
    shape = call.constant(1).shape
    return (call.tensor(0),), movement.Gather(places=call.integers(1), places_shape=shape, axis=call.option("axis"))


def resized_to(call: Call) -> tuple[tuple[int, int], bool, bool]:
    """Return the options of an operator that resizes: size, align_corners, and half_pixel_centers."""
    size = call.integers(1)
    if len(size) != 2 or min(size) < 1:
        raise ModelImportError(f"a size of {' x '.join(map(str, size))}, must be rows and columns", remedy=REMEDY)
    align_corners, half_pixel_centers = bool(call.option("alignCorners")), bool(call.option("halfPixelCenters"))
    if align_corners and half_pixel_centers:
        raise Unsupported("its corners are aligned and its pixels' centres are half")
    rows, columns = size
    return (rows, columns), align_corners, half_pixel_centers


def resize_nearest_neighbor(call: Call) -> Imported:
    source, (size, align_corners, half_pixel_centers) = call.tensor(0), resized_to(call)
    return (source,), movement.ResizeNearestNeighbor(
        size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


def concatenation(call: Call) -> Imported:
    if call.fused() != "NONE":
        raise Unsupported(f"fused activation {call.fused()}")
    parts = tuple(call.tensor(number) for number in range(len(call.inputs)))
    unsigned = call.unsigned and all(isinstance(part, Quantized) for part in parts)
    return parts, movement.Concatenation(axis=call.option("axis"), unsigned=unsigned)


def split(call: Call) -> Imported:
    (axis,), source, count = call.integers(0), call.tensor(1), call.option("numSplits")
    rank = len(source.shape)
    if not -rank <= axis < rank or count < 1 or source.shape[axis] % count:
        raise ModelImportError(f"{source.form} does not split into {count} along axis {axis}", remedy=REMEDY)
    return (source,), movement.Split(axis=axis, sizes=(source.shape[axis] // count,) * count)


def split_v(call: Call) -> Imported:
    source, sizes, (axis,) = call.tensor(0), call.integers(1), call.integers(2)
    rest = source.shape[axis] - sum(size for size in sizes if size != -1)
    return (source,), movement.Split(axis=axis, sizes=tuple(rest if size == -1 else size for size in sizes))


def pack(call: Call) -> Imported:
    parts = tuple(call.tensor(number) for number in range(len(call.inputs)))
    return parts, movement.Pack(axis=call.option("axis"))


def unpack(call: Call) -> Imported:
    return (call.tensor(0),), movement.Unpack(axis=call.option("axis"))


OPERATORS: dict[str, Importer] = {
    "RESHAPE": _reshape("RESHAPE"),
    "SQUEEZE": _reshape("SQUEEZE"),
    "EXPAND_DIMS": _reshape("EXPAND_DIMS"),
    "TRANSPOSE": transpose,
    "PAD": pad,
    "PADV2": pad_v2,
    "MIRROR_PAD": mirror_pad,
    "TILE": tile,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "GATHER": gather,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "CONCATENATION": concatenation,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "PACK": pack,
    "UNPACK": unpack,
}
