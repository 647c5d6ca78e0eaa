# SPDX-License-Identifier: Apache-2.0
"""Layer files: a user's tensors for one layer on the array, and the passes that compute it.

eyrie/commands/layer.py describes the contents.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.arrays import read_npz
from eyrie.compiler.ir.layer import Output, Table
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.convolution import convolution_cases
from eyrie.compiler.single_layer.layer_run import Finish, GlbOverflow, Ifmap, LayerPass
from eyrie.compiler.single_layer.separable import Depthwise, fused_cases
from eyrie.compiler.target.limits import MOST_CONVOLUTION, MOST_DEPTHWISE
from eyrie.model.config import DEFAULT, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import NO_FILTER_COLUMN
from eyrie.model.errors import InputError
from eyrie.model.messages import array, times, unknown

MAPPING = ("e", "p", "q", "r", "t")
FUSED = ("pw_filter", "dw_bias", "dw_multiplier", "dw_shift", "dw_zero_point", "dw_min", "dw_max")
NEEDED = ("ifmap", "filter", "stride", "pad")
KNOWN = {*NEEDED, *MAPPING, *FUSED, "ipsum", "zero_point"}
LARGEST_MAP = 1024  # most rows or columns, with padding, that the address generators can count
INT8, INT32 = (-128, 127), (-(2**31), 2**31 - 1)


class BadCase(InputError):
    """A layer that cannot be run; the message is one line."""


@dataclass(frozen=True)
class CaseFile:
    """The contents of a layer file, checked.

    ifmap    int8 [C, H, W], padded if the padding is wider than the kernel reaches
    filters  int8 [M, C, R, S]; of a fused layer the depthwise ones, [C, 1, R, S]
    fused    quantisation parameters of the depthwise sums, and pointwise filters int8 [M2, C]; or None
    mapping  e, p, q, r, t, or None
    shape    of the sums: (M, E, F)
    """

    ifmap: np.ndarray
    filters: np.ndarray
    window: Window
    zero_point: int
    ipsum: np.ndarray | None
    fused: tuple[Table, np.ndarray] | None
    mapping: dict[str, int] | None
    shape: tuple[int, int, int]


def load(path: str | Path, config: AcceleratorConfig = DEFAULT) -> CaseFile:
    """Read and check a file. Raise InputError, with one line, if it cannot be read, BadCase if its contents are
    invalid."""
    values = read_npz(path, "write the layer with numpy.savez")
    try:
        return _checked(values, config)
    except InputError as error:
        raise BadCase(f"{path}: {error}") from None


def parts(case: CaseFile, config: AcceleratorConfig = DEFAULT) -> list[LayerPass]:
    """Return the passes that compute a layer, on signed values. Raise BadCase if the layer does not fit."""
    try:
        if case.fused:
            middle, pointwise = case.fused
            found = fused_cases(
                Ifmap(case.ifmap, case.zero_point),
                case.window,
                Depthwise(case.filters[:, 0], middle),
                pointwise,
                case.ipsum,
                config,
            )
        else:
            found = _convolution(case, config)
    except GlbOverflow as error:
        raise BadCase(f"{error}; it is cut into passes already: use fewer channels or columns") from None
    except InputError as error:
        names = ", ".join(MAPPING)
        raise BadCase(
            f"the mapping does not fit: {error}; change {names} or leave them out"
            if case.mapping and not case.fused
            else str(error)
        ) from None
    return [(single.signed(), filters, rows) for single, filters, rows in found]


def _convolution(case: CaseFile, config: AcceleratorConfig) -> list[LayerPass]:
    choices = [case.mapping] if case.mapping else list(default_mappings(case, config))
    for mapping in choices:
        try:
            ifmap = Ifmap(case.ifmap, case.zero_point, packed=len(case.ifmap) <= mapping["q"])
            return convolution_cases(ifmap, case.filters, case.window, mapping, Finish(case.ipsum), config)
        except GlbOverflow:
            if mapping is choices[-1]:
                raise
    raise AssertionError("a layer has a mapping")


def default_mappings(case: CaseFile, config: AcceleratorConfig) -> Iterator[dict[str, int]]:
    """Yield mappings that fit the array, the best first.

    Columns are output rows, the two sets share the channels, and the remaining columns take other filters. Mappings
    that need less of the GLB follow.
    """
    filters, channels, _, taps = case.filters.shape
    e = min(case.shape[1], config.cols)
    p = min(WORD_CHANNELS, filters, max(1, config.filter_words // 2 // taps))  # a group in use, one to come
    r = min(2, config.sets) if channels > WORD_CHANNELS else 1
    down = min(config.sets // r, -(-filters // p))
    across = min(config.cols // e, NO_FILTER_COLUMN, -(-filters // (p * down)))
    most = dict(e=e, p=p, q=WORD_CHANNELS, r=r, t=down * across)
    for less in (
        {},
        {"t": 1},
        {"t": 1, "e": -(-e // 2)},
        {"t": 1, "e": 1},
        {"t": 1, "e": 1, "p": 1},
    ):
        yield most | less


# ---- Checks: each raises ValueError, in one line -------------------------------------------------


def _checked(values: dict[str, np.ndarray], config: AcceleratorConfig) -> CaseFile:
    fused = [name for name in FUSED if name in values]
    for name in (*NEEDED, *(FUSED if fused else ())):
        if name not in values:
            why = f": {fused[0]} is there, so the layer is fused" if name in FUSED else ""
            raise InputError(f"no {name}{why}; add it")
    if more := sorted(values.keys() - KNOWN):
        raise InputError(unknown("array of a layer", more[0], sorted(KNOWN)))

    ifmap = _tensor(values, "ifmap", np.int8, (None, None, None))
    channels = len(ifmap)
    filter_shape = (channels, 1, None, None) if fused else (None, channels, None, None)
    filters = _tensor(values, "filter", np.int8, filter_shape)
    rows, taps = filters.shape[2:]
    most = MOST_DEPTHWISE if fused else MOST_CONVOLUTION
    if rows > most[0] or taps > most[1]:
        raise InputError(f"filter: the kernel is {rows} x {taps}, the array takes up to {times(most)}")
    zero_point = _number(values, "zero_point", *INT8) if "zero_point" in values else 0
    stride = _number(values, "stride", 1, 2)
    ifmap, pads = _padded(ifmap, _pads(values), (rows, taps), zero_point)
    window = Window((rows, taps), (stride, stride), pads)
    height, width = output_size(ifmap.shape[1:], window)
    pointwise = _tensor(values, "pw_filter", np.int8, (None, channels)) if fused else None
    shape = (len(filters) if pointwise is None else len(pointwise), height, width)
    ipsum = _tensor(values, "ipsum", np.int32, shape) if "ipsum" in values else None
    table = None if pointwise is None else (_table(values, channels), pointwise)
    mapping = _mapping(values, config)
    return CaseFile(ifmap, filters, window, zero_point, ipsum, table, mapping, shape)


def _tensor(values: dict, name: str, kind: type, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a tensor of this type and shape. None: any length from 1 on"""
    value = values[name]
    wanted = " x ".join("n" if length is None else str(length) for length in shape)
    if value.dtype != kind:
        raise InputError(f"{name} is {array(value)}, must be {np.dtype(kind)}; convert it")
    fits = value.ndim == len(shape) and all(
        got == length if length is not None else got > 0 for got, length in zip(value.shape, shape)
    )
    if not fits:
        raise InputError(f"{name} is {array(value)}, must be {wanted}; change its shape")
    return value


def _integers(values: dict, name: str, counts: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Return integers of any type within a range. counts: allowed numbers of integers"""
    value = values[name]
    if value.dtype.kind not in "iu" or value.size not in counts or value.ndim > 1:
        wanted = " or ".join("one integer" if count == 1 else f"{count} integers" for count in counts)
        raise InputError(f"{name} is {array(value)}, must be {wanted}; change it")
    if value.min() < low or value.max() > high:
        worst = value.min() if value.min() < low else value.max()
        raise InputError(f"{name} = {worst}: must be {low} {'or' if high == low + 1 else 'to'} {high}")
    return value.reshape(-1).astype(np.int64)


def _number(values: dict, name: str, low: int, high: int) -> int:
    return int(_integers(values, name, (1,), low, high)[0])


def _pads(values: dict) -> tuple[int, int, int, int]:
    pads = _integers(values, "pad", (1, 4), 0, LARGEST_MAP)
    top, bottom, left, right = (int(pad) for pad in np.broadcast_to(pads, 4))
    return top, bottom, left, right


def _padded(
    ifmap: np.ndarray, pads: tuple[int, ...], kernel: tuple[int, int], zero_point: int
) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Make padding beyond kernel - 1 part of the map."""
    top, bottom, left, right = pads
    for what, size, own in (("rows", top + bottom, 1), ("columns", left + right, 2)):
        if (total := ifmap.shape[own] + size) > LARGEST_MAP:
            raise InputError(f"ifmap: {total} {what} with padding, at most {LARGEST_MAP} fit; cut it")
    kept = [min(pad, side - 1) for pad, side in zip(pads, np.repeat(kernel, 2).tolist())]
    more = [pad - keep for pad, keep in zip(pads, kept)]
    widths = ((0, 0), (more[0], more[1]), (more[2], more[3]))
    return np.pad(ifmap, widths, constant_values=zero_point), tuple(kept)


def _table(values: dict, channels: int) -> Table:
    """Return the quantisation parameters of the depthwise sums."""
    low, high = _number(values, "dw_min", *INT8), _number(values, "dw_max", *INT8)
    if low > high:
        raise InputError(f"dw_min = {low} is above dw_max = {high}; exchange them")
    return Table(
        _integers(values, "dw_bias", (channels,), *INT32).astype(np.int32),
        _integers(values, "dw_multiplier", (channels,), 0, INT32[1]).astype(np.int32),
        _integers(values, "dw_shift", (channels,), -31, 30).astype(np.int8),
        Output(_number(values, "dw_zero_point", *INT8), low, high),
    )


def _mapping(values: dict, config: AcceleratorConfig) -> dict[str, int] | None:
    given = [name for name in MAPPING if name in values]
    if not given:
        return None
    if missing := [name for name in MAPPING if name not in values]:
        raise InputError(f"mapping without {', '.join(missing)}; give all of {', '.join(MAPPING)}")
    most = dict(
        e=config.sets * config.cols,
        p=7,
        q=WORD_CHANNELS,
        r=config.sets,
        t=config.sets * config.cols,
    )
    return {name: _number(values, name, 1, most[name]) for name in MAPPING}
