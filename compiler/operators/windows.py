# SPDX-License-Identifier: Apache-2.0
"""Windows over maps: their results, and their attributes in each framework."""

from typing import TYPE_CHECKING, Protocol, TypedDict, runtime_checkable

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.ir.window import Window
from eyrie.compiler.kernel_calls.steps import Fields
from eyrie.compiler.operators.record import Site
from eyrie.model.encoding import COORDINATE_BITS, STREAM_LEVEL
from eyrie.model.errors import InputError
from eyrie.model.messages import times

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

Shape = tuple[int, ...]
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]
MOST_TAPS = 4096  # limit of a kernel with its strides and dilations along an axis


def window_output(shape: Pair, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair = (1, 1)) -> tuple[int, ...]:
    """Return E and F. Raise InputError if no window fits."""
    padded = shape[0] + pads[0] + pads[1], shape[1] + pads[2] + pads[3]
    reach = tuple((taps - 1) * gap + 1 for taps, gap in zip(kernel, dilation))
    if min(*kernel, *stride, *dilation) < 1:
        raise InputError(f"a kernel of {times(kernel)}, strides of {times(stride)}, dilations of {times(dilation)}")
    if any(size < taps for size, taps in zip(padded, reach)):
        raise InputError(f"a kernel of {times(reach)} does not fit a padded map of {times(padded)}")
    return tuple((size - taps) // step + 1 for size, taps, step in zip(padded, reach, stride))


# ---- Accelerator ----


@runtime_checkable
class HasWindow(Protocol):
    """An operator that reads windows of a map."""

    @property
    def window(self) -> Window: ...


def countable_steps(site: Site) -> str:
    """the accelerator's fields count the steps of a window, over margins, too"""
    assert isinstance(site.operator, HasWindow)
    window, most = site.operator.window, 1 << COORDINATE_BITS
    ends = ((size - 1) * step + span for size, step, span in zip(site.maps[1], window.stride, window.span))
    within = (
        max(ends) < most
        and 2 * max(window.pads) < most
        and max(*window.stride, *window.dilation) <= STREAM_LEVEL.largest("step")
    )
    return "" if within else f"a {times(window.kernel)} kernel with {window}"


# ---- C ----


def window_fields(source: Tensor, output: Tensor, window: Window, of_filters: bool = False) -> Fields:
    """Return the fields of a kernel that walks through windows of a map. of_filters: whether each output has a filter,
    and windows have dilations"""
    (batch, height, width, channels), (_, rows, columns, _) = source.shape, output.shape
    return {
        "N": batch,
        "H": height,
        "W": width,
        "C": channels,
        "E": rows,
        "F": columns,
        **({"M": output.shape[3]} if of_filters else {}),
        "R": window.kernel[0],
        "S": window.kernel[1],
        "stride": tuple(window.stride),
        **({"dilation": tuple(window.dilation)} if of_filters else {}),
        "top": window.pads[0],
        "left": window.pads[2],
    }


# ---- Float operators, with axes N, C, H, W or N, C, W ----


def window(operation: Operation, kernel: Shape) -> tuple[Pair, Pair, Pads, Pair]:
    """Return kernel, strides, pads and dilations over rows and columns. A window over one axis is over columns."""
    ones = (1,) * len(kernel)
    strides, dilations = (operation.integers(name, ones) for name in ("strides", "dilations"))
    pads = operation.integers("pads", (0,) * 2 * len(kernel))
    if len(kernel) not in (1, 2) or not len(kernel) == len(strides) == len(dilations) == len(pads) / 2:
        raise InputError(f"a window over {len(kernel)} axes with {len(strides)} strides and {len(pads)} pads")
    if max(*kernel, *strides, *dilations, *pads) > MOST_TAPS or min(pads) < 0:
        raise InputError(
            f"a window of {times(kernel)} with strides {times(strides)} and pads of {', '.join(map(str, pads))}"
        )
    top, bottom, left, right = (0, 0, *pads)[-4:]
    return _pair(kernel), _pair(strides), (top, bottom, left, right), _pair(dilations)


def _pair(values: Shape) -> Pair:
    """Return the values of rows and columns; rows are 1 if only columns exist."""
    rows, columns = (1, *values)[-2:]
    return rows, columns


def over(operation: Operation, source: Shape, kernel: Shape) -> Shape:
    """Return the result's axes after N and C, for a window of `kernel` over `source`."""
    if len(source) != len(kernel) + 2:
        raise InputError(f"a window of {times(kernel)} over {times(source)} values")
    taps, strides, pads, dilations = window(operation, kernel)
    return window_output(_pair(source[2:]), taps, strides, pads, dilations)[-len(kernel) :]


# ---- ONNX ----


class Steps(TypedDict):
    """The attributes of a window of ONNX."""

    strides: Shape
    dilations: Shape
    pads: Shape


def onnx_window(call: "OnnxCall", kernel: Shape, source: Shape) -> Steps:
    """Return the attributes of a window over `source`, whose axes are N, C and one or two more."""
    axes, sizes = len(kernel), source[2:]
    if axes not in (1, 2) or len(sizes) != axes:
        raise Unsupported(f"a window over {axes} axes")
    strides, dilations = call.wholes("strides", (1,) * axes), call.wholes("dilations", (1,) * axes)
    reach = [(taps - 1) * gap + 1 for taps, gap in zip(kernel, dilations)]
    automatic = call.text("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        lower = automatic == "SAME_LOWER"
        pads = [_same(size, taps, stride, lower) for size, taps, stride in zip(sizes, reach, strides)]
    else:
        given = call.wholes("pads", (0,) * 2 * axes) if automatic == "NOTSET" else (0,) * 2 * axes
        pads = list(zip(given[:axes], given[axes:]))
    if call.whole("ceil_mode", 0):
        pads = [_up(*each) for each in zip(sizes, reach, strides, pads)]
    return {"strides": strides, "dilations": dilations, "pads": tuple(each for pair in pads for each in pair)}


def _same(size: int, reach: int, stride: int, lower: bool) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def _up(size: int, reach: int, stride: int, pads: tuple[int, int]) -> tuple[int, int]:
    """Return the pads, with enough added at the end to complete the last window. No window begins after the map."""
    before, after = pads
    count = -(-(size + before + after - reach) // stride) + 1
    if (count - 1) * stride >= size + before:
        count -= 1
    return before, max(after, (count - 1) * stride + reach - size - before)


# ---- ATen and Relax ----


class Pooling(TypedDict):
    """The attributes of a pool."""

    kernel: Shape
    strides: Shape
    pads: Shape


def both_ends(pads: Shape) -> Shape:
    """Return the pads before and after, for each axis."""
    return tuple(pad for pad in pads for _ in range(2))


def aten_pooling(call: "AtenCall") -> Pooling:
    """Return the attributes of a pool. Raise Unsupported if rounding up adds a window that begins outside the input."""
    rank = len(call.shape(call["self"])) - 2
    if rank != call.map_axes:
        raise Unsupported(f"it takes {times(call.shape(call['self']))} values, without images or channels")
    kernel = call.pair("kernel_size", rank)
    pads = both_ends(call.pair("padding", rank))
    return {"kernel": kernel, "strides": call.pair("stride", rank, kernel), "pads": pads}


def relax_pooling(call: "RelaxCall") -> Pooling:
    """Return the attributes of a pool, as aten_pooling does."""
    check_layout(call)
    if set(call.numbers("dilation")) != {1}:
        raise Unsupported("its windows have gaps")
    made: Pooling = {"kernel": call.numbers("pool_size"), "strides": call.numbers("strides"), "pads": call.pads}
    check_whole(call.shape(call.operand(0)), call.made_shape, made)
    return made


def check_layout(call: "RelaxCall") -> None:
    """Raise Unsupported if the layout is not channels first."""
    layout = "NCW" if call.map_axes == 1 else "NCHW"
    if (own := call.text("layout")) != layout or call.text("out_layout") != layout:
        raise Unsupported(f"its layout is {own}, not {layout}")


def check_whole(source: Shape, made: Shape, pool: Pooling) -> None:
    """Raise Unsupported if rounding up adds a window that begins outside the input."""
    pads = pool["pads"]
    down = tuple(
        (size + sum(pads[2 * n : 2 * n + 2]) - taps) // step + 1
        for n, (size, taps, step) in enumerate(zip(source[2:], pool["kernel"], pool["strides"]))
    )
    if down != made[2:]:
        raise Unsupported("its windows reach over the edge (ceil_mode)")


def even_windows(source: Shape, made: Shape) -> Shape | None:
    """Return the kernel of an adaptive pool, None if it averages whole maps. Raise Unsupported if windows differ."""
    source, made = source[2:], made[2:]
    if set(made) == {1}:
        return None
    if any(size % wanted for size, wanted in zip(source, made)):
        raise Unsupported(f"windows of {times(source)} pixels are not all alike for {times(made)}")
    return tuple(size // wanted for size, wanted in zip(source, made))
