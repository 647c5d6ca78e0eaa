# SPDX-License-Identifier: Apache-2.0
"""A group of fused layers in parts: the rows that each part needs, and the storage, traffic and work that follow.

A part is a row tile of the output of the group's last layer. Its rows of every other tensor are traced back through
stride, kernel and padding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from eyrie.compiler.ir.window import Window, input_rows
from eyrie.model.errors import InputError

Rows = tuple[int, int]  # first row, end


@dataclass(frozen=True)
class ChainLayer:
    """One layer: H x W x C in, E x F x M out, a byte an element, as stored (with padded channels, if any).

    pads             top, bottom, left, right; top and bottom below the kernel
    constants_bytes  weights and quantisation parameters
    window_bytes     the minimum of these bytes in the GLB at a time if they are streamed; 0: all of them
    macs             MACs of the whole layer

    Raise InputError if rows, kernel, stride and pads disagree.
    """

    name: str
    height: int
    width: int
    channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel: int
    stride: int
    pads: tuple[int, int, int, int]
    constants_bytes: int
    macs: int
    window_bytes: int = 0

    def __post_init__(self) -> None:
        top, bottom = self.pads[:2]
        if max(top, bottom) >= self.kernel:
            raise InputError(
                f"layer {self.name}: pads of {top} and {bottom} rows are not below the kernel, {self.kernel}"
            )
        rows = (self.height + top + bottom - self.kernel) // self.stride + 1
        if rows != self.out_height or rows < 1:
            raise InputError(f"layer {self.name}: {self.height} rows make {rows} rows, not {self.out_height}")

    @property
    def window(self) -> Window:
        return Window((self.kernel, 1), (self.stride, 1), self.pads)

    @property
    def row_bytes(self) -> int:
        return self.width * self.channels

    @property
    def out_row_bytes(self) -> int:
        return self.out_width * self.out_channels


Chain = tuple[ChainLayer, ...]


class Halo(Enum):
    """The treatment of rows that two parts need: they stay in a circular buffer, or are read or computed again."""

    KEEP = "kept"
    RECOMPUTE = "recomputed"


@dataclass(frozen=True)
class FusedWay:
    """The schedule of a fusion group.

    height                            output rows of a part; the last part may have fewer
    source_on_chip, target_on_chip    the group's input or output lies whole in the GLB, else in DRAM
    in_place                          the output overwrites the dead rows of the input, in one circular buffer
    streamed                          constants pass through a window of the GLB, once for every part
    """

    height: int
    halo: Halo = Halo.KEEP
    source_on_chip: bool = False
    target_on_chip: bool = False
    in_place: bool = False
    streamed: bool = False


@dataclass(frozen=True)
class Stripe:
    """Rows of the group's tensors: 0 is its input, the last its output. A range may be empty, (a, a).

    needed  read by the next layer for this part; of the output, made
    made    loaded or computed for this part
    """

    needed: tuple[Rows, ...]
    made: tuple[Rows, ...]


@lru_cache(maxsize=4096)
def partition(layers: Chain, height: int, halo: Halo) -> tuple[Stripe, ...]:
    """Return the parts of a group in order, `height` output rows each; the last part has the remaining rows."""
    parts, done = [], [0] * len(layers)
    rows = layers[-1].out_height
    for first in range(0, rows, height):
        made = [(first, min(first + height, rows))]
        needed = list(made)
        for t in reversed(range(len(layers))):
            layer, read = layers[t], (done[t], done[t])
            if count(made[0]):
                read = input_rows(layer.window, layer.height, *made[0])
            needed.insert(0, read)
            made.insert(0, (max(read[0], done[t]), read[1]) if halo is Halo.KEEP else read)
            done[t] = read[1]
        parts.append(Stripe(tuple(needed), tuple(made)))
    return tuple(parts)


def count(rows: Rows) -> int:
    return max(0, rows[1] - rows[0])


@dataclass(frozen=True)
class _Walk:
    """A group step by step: each part, layer by layer. rows: of the group's input."""

    parts: tuple[Stripe, ...]
    way: FusedWay
    rows: int

    def steps(self) -> Iterator[tuple[int, int]]:
        return ((p, layer) for p in range(len(self.parts)) for layer in range(len(self.parts[0].made) - 1))

    def live(self, p: int, layer: int, t: int) -> int:
        """Return the rows of tensor t in the GLB while part p runs the layer."""
        part, last = self.parts[p], len(self.parts[p].made) - 1
        if t == 0 and self.way.source_on_chip:
            return self.rows - (part.needed[0][0] if layer == 0 else self._first_later(p, 0))
        if t == last:
            if self.way.target_on_chip:
                return part.made[t][layer == t - 1]  # rows before this part, or with its own
            return count(part.made[t]) if layer == t - 1 else 0
        if t in (layer, layer + 1):
            return count(part.needed[t])
        if self.way.halo is Halo.RECOMPUTE:
            return 0
        if t < layer:
            return count((self._first_later(p, t), part.needed[t][1]))
        return count((part.needed[t][0], self.parts[p - 1].needed[t][1])) if p else 0

    def _first_later(self, p: int, t: int) -> int:
        """Return the first row of tensor t that parts after part p read."""
        if p + 1 < len(self.parts):
            return self.parts[p + 1].needed[t][0]
        return self.rows if t == 0 else self.parts[p].needed[t][1]


def _storage(layers: Chain, parts: tuple[Stripe, ...], way: FusedWay, lifetimes: bool) -> int:
    walk = _Walk(parts, way, layers[0].height)
    widths = [layer.row_bytes for layer in layers] + [layers[-1].out_row_bytes]
    steps = []
    for p, now in walk.steps():
        tensors = [walk.live(p, now, t) * width for t, width in enumerate(widths)]
        if way.in_place:
            tensors = [sum(tensors)]
        if way.streamed:
            constants = [(c.window_bytes or c.constants_bytes) * (n == now) for n, c in enumerate(layers)]
        else:
            dead = now if p == len(parts) - 1 else 0
            constants = [c.constants_bytes * (n >= dead) for n, c in enumerate(layers)]
        steps.append(tensors + constants)
    return max(map(sum, steps)) if lifetimes else sum(map(max, zip(*steps)))


# ---- Groups ----


@dataclass(frozen=True)
class FusedGroup:
    """Layers `first` to `last` - 1 of a chain, their schedule, and its cost.

    storage   bytes of GLB
    transfer  bytes between DRAM and GLB: input, output, constants
    glb       bytes read from and written to the GLB
    macs      MACs, recomputed ones included
    """

    first: int
    last: int
    layers: Chain
    way: FusedWay
    parts: int
    storage: int
    transfer: int
    glb: int
    macs: int

    @property
    def passes(self) -> int:
        return self.parts * len(self.layers)

    def __str__(self) -> str:
        way, names = self.way, "+".join(layer.name for layer in self.layers)
        source, target = ("GLB" if here else "DRAM" for here in (way.source_on_chip, way.target_on_chip))
        how = f"{self.parts} x {way.height} rows, halo {way.halo.value}" if self.parts > 1 else "whole"
        how += ", in place" if way.in_place else ""
        how += ", constants streamed" if way.streamed else ""
        return (
            f"{names}: {source} -> {target}, {how}; storage {self.storage} B, "
            f"transfer {self.transfer} B, {self.macs} MACs"
        )


def fused_group(chain: Chain, first: int, last: int, way: FusedWay, lifetimes: bool = False) -> FusedGroup:
    """Return storage, traffic and work of layers `first` to `last` - 1 of a chain, scheduled this way.

    lifetimes: storage is the largest sum of live bytes at a time. Otherwise, each tensor and each layer's constants
    have their own memory throughout, for their largest size.
    """
    layers = chain[first:last]
    parts = partition(layers, way.height, way.halo)
    constants = sum(layer.constants_bytes for layer in layers)
    transfer = constants * (len(parts) if way.streamed else 1)
    if not way.source_on_chip:
        transfer += sum(count(part.made[0]) for part in parts) * layers[0].row_bytes
    if not way.target_on_chip:
        transfer += layers[-1].out_height * layers[-1].out_row_bytes
    glb, macs = transfer + constants * len(parts), 0
    for t, layer in enumerate(layers):
        made = sum(count(part.made[t + 1]) for part in parts)
        glb += made * layer.out_row_bytes + sum(count(part.needed[t]) for part in parts) * layer.row_bytes
        macs += -(-layer.macs * made // layer.out_height)
    storage = _storage(layers, parts, way, lifetimes)
    return FusedGroup(first, last, layers, way, len(parts), storage, transfer, glb, macs)
