# SPDX-License-Identifier: Apache-2.0
"""The beats that one pass sends into the PE array, and the sums that must leave it according to the golden model."""

from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.single_layer.layer_run import Case
from eyrie.model import encoding as enc
from eyrie.model import streams
from eyrie.model.array import drain_transfers
from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Destination, DrainMode, Stream
from eyrie.model.passes import run_pass

Beat = dict[str, int]
TWO = 8  # bit of a note


@dataclass(frozen=True)
class PassBeats:
    """The beats of one pass on each stream, in order, and its results.

    sums     int32 [tiles, sums of a column, cols]; columns that are not in use are undefined
    second   bool [sums of a column]: the second one of its beat
    notes    int [tiles, beats]: the note of a drain beat; bit TWO: it has two pixels
    used     columns in use
    macs     MACs
    """

    case: Case
    ifmap: list[Beat]
    filter: list[Beat]
    depthwise: list[Beat]
    drain: list[Beat]
    sums: np.ndarray
    second: np.ndarray
    notes: np.ndarray
    used: int
    macs: int


def behind_any_glb(config: AcceleratorConfig) -> AcceleratorConfig:
    """Return the configuration with a GLB that holds any layer in one pass."""
    return replace(config, glb_banks=8, glb_bank_words=8192)


def pass_beats(config: AcceleratorConfig, case: Case, rng: np.random.Generator) -> PassBeats:
    """Return all beats of a case; notes and start sums that must not matter are random."""
    glb = np.zeros(config.glb_words, np.uint64)
    glb[: len(case.glb)] = case.glb
    descriptor = case.descriptor
    read = {
        stream: _stream_beats(descriptor, stream, glb, lanes)
        for stream, lanes in ((Stream.IFMAP, 2), (Stream.FILTER, config.filter_lanes), (Stream.DEPTHWISE, 1))
    }
    starts = _start_sums(descriptor, glb, case.places.shape[:3], rng)
    order = drain_transfers(descriptor)
    two = np.append(order.second[1:], False)[~order.second]  # beats
    notes = rng.integers(0, 1 << TWO, (len(starts), len(two))) | two << TWO
    drain = _drain_beats(descriptor, starts, notes)
    trace = run_pass(config, descriptor, glb)
    return PassBeats(
        case,
        read[Stream.IFMAP],
        read[Stream.FILTER],
        read[Stream.DEPTHWISE],
        drain,
        trace.sums.reshape(starts.shape),
        order.second,
        notes,
        descriptor.drain["columns"],
        multiplications(config, descriptor),
    )


def _stream_beats(descriptor: Descriptor, stream: Stream, glb: np.ndarray, lanes: int) -> list[Beat]:
    program = descriptor.stream(stream)
    if not program.options["enable"]:
        return []
    beats = streams.read(program, glb, lanes)
    common = {"half_by_set": int(beats.half_by_set)}
    if stream == Stream.IFMAP:
        common["to_pixels"] = int(program.options["destination"] == Destination.PIXELS)
        common["more_bands"] = program.options["more_bands"]
    items = []
    for data, sent, tag in zip(beats.data.tolist(), beats.lanes.tolist(), beats.tag.tolist()):
        item = {"data": sum(word << 64 * lane for lane, word in enumerate(data)), "tag": tag, **common}
        items.append(item | {"lanes": sum(bit << lane for lane, bit in enumerate(sent))})
    return items


def _start_sums(
    descriptor: Descriptor, glb: np.ndarray, shape: tuple[int, int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return the start value of each chain: int32 [tiles, sums of a column, cols]."""
    starts = rng.integers(-(2**31), 2**31, shape).astype(np.int32)
    drain = descriptor.drain
    if drain["mode"] == DrainMode.WORDS:  # a word takes the sum's place
        return starts
    columns = drain["columns"]
    starts[:, :, :columns] = 0
    if drain["ipsum"]:
        words = streams.read(descriptor.stream(Stream.IPSUM), glb).data[:, 0]
        values = words.reshape(shape[0], shape[1], -1).view(np.int32)
        starts[:, :, :columns] = values[:, :, :columns]
    return starts


def _drain_beats(descriptor: Descriptor, starts: np.ndarray, notes: np.ndarray) -> list[Beat]:
    order = drain_transfers(descriptor)
    drain, words = descriptor.drain, descriptor.drain["mode"] == DrainMode.WORDS
    firsts = np.flatnonzero(~order.second).tolist()
    last = {set_: n for n, set_ in enumerate(order.set[firsts].tolist())}
    packed = np.ascontiguousarray(starts[:, firsts]).view(np.uint8).reshape(len(starts), len(firsts), -1)
    beat = [
        {
            "set": set_,
            # A chain's last beat of a tile gives its psum half back.
            "free": drain["rows"] if n == last[set_] and not words else 0,
            "index": 0 if words else int(order.index[first]),
            "word": int(words),
        }
        for n, (first, set_) in enumerate(zip(firsts, order.set[firsts].tolist()))
    ]
    adding = [[_bits(np.roll(order.rows[first], row)) for first in firsts] for row in range(SET_ROWS)]
    return [
        {
            **beat[n],
            "add": adding[first_row(descriptor, tile)][n],
            "note": note,
            "two": note >> TWO,
            "sums": int.from_bytes(packed[tile, n].tobytes(), "little"),
        }
        for tile, own in enumerate(notes.tolist())
        for n, note in enumerate(own)
    ]


def _bits(rows: np.ndarray) -> int:
    return sum(1 << row for row in np.flatnonzero(rows).tolist())


def first_row(descriptor: Descriptor, tile: int) -> int:
    """Return the set row that has the first filter of a tile of the pass, counted over outer and inner blocks."""
    loops = descriptor.loops
    return tile // loops["inner"] % loops["tiles"] * descriptor.shape["rotation"] % SET_ROWS


def multiplications(config: AcceleratorConfig, descriptor: Descriptor) -> int:
    """Return the MACs that the PEs issue in a pass."""
    shape, loops = descriptor.shape, descriptor.loops
    _, columns = descriptor.ids(config.rows, config.cols)
    blocks = loops["outer"] * loops["inner"] * loops["groups"]
    rows_first = [tile * shape["rotation"] % SET_ROWS for tile in range(loops["tiles"])]
    total = 0
    for row, ids in enumerate(columns):
        filters = sum(shape[f"filters_{(row - first) % SET_ROWS}"] for first in rows_first)
        words = 0
        if shape["mode"] in (ArrayMode.FUSED, ArrayMode.DEPTHWISE):
            words += blocks * shape["pixels"] * shape["taps"] * loops["bands"]
        if shape["mode"] != ArrayMode.DEPTHWISE:
            taps = shape["taps"] if shape["mode"] == ArrayMode.CONVOLUTION else 1
            words += blocks * shape["pixels"] * filters * taps
        total += words * 4 * sum(pe["ifmap"] != enc.NO_COLUMN for pe in ids)
    return total
