# SPDX-License-Identifier: Apache-2.0
"""The array's words of a descriptor."""

from dataclasses import dataclass

from eyrie.compiler.ir.layer import OFFSET_ZERO_POINT
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.scan_ids import ScanIds
from eyrie.model import encoding as enc
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode


@dataclass(frozen=True)
class ZeroPoints:
    """Of what is multiplied: ifmap and depthwise words, and the filters of psums and of depthwise work."""

    ifmap: int
    words: int
    filters: int
    depthwise: int = 0


@dataclass(frozen=True)
class ArrayWork:
    """What the PEs do in a pass.

    taps, stride  of rows of the kernel that PEs or SUPERs move along
    bands         of a depthwise kernel, else 0
    filters       of a tile, in each row of a set
    groups        of channels
    tiles         of filters; rotation: as `limits.deal_of`
    """

    mode: ArrayMode
    blocks: Blocks
    taps: int
    stride: int
    zero_points: ZeroPoints
    filters: tuple[int, ...]
    groups: int
    tiles: int
    rotation: int = 0
    bands: int = 0


def set_array(descriptor: Descriptor, ids: ScanIds, work: ArrayWork) -> None:
    """The array's words: shape, loops, IDs."""
    descriptor.set_ids(ids.rows, ids.columns)
    blocks, zero_points, filters = work.blocks, work.zero_points, work.filters
    descriptor.set(
        enc.ARRAY_SHAPE_INDEX,
        enc.ARRAY_SHAPE,
        mode=work.mode,
        taps=work.taps,
        stride_2=work.stride - 1,
        ifmap_offset=_offset(zero_points.ifmap),
        word_offset=_offset(zero_points.words),
        pixels=blocks.pixels,
        filters_0=filters[0],
        filters_1=filters[1],
        filters_2=filters[2],
        rotation=work.rotation,
        filter_zero_point=zero_points.filters,
        depthwise_zero_point=zero_points.depthwise,
    )
    descriptor.set(
        enc.ARRAY_LOOPS_INDEX,
        enc.ARRAY_LOOPS,
        groups=work.groups,
        inner=blocks.inner,
        tiles=work.tiles,
        outer=blocks.outer,
        bands=work.bands,
    )
    descriptor.set(enc.DRAIN_INDEX, enc.DRAIN, link_enable=ids.link_enable)


def _offset(zero_point: int) -> int:
    return int(zero_point == OFFSET_ZERO_POINT)
