# SPDX-License-Identifier: Apache-2.0
"""Bytes of a program, exactly as the accelerator's counters count them: DRAM, commands, GLB by client."""

from collections.abc import Mapping

from eyrie.compiler.ir.program import Transfer
from eyrie.model import encoding as enc
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import Axis, Stream
from eyrie.model.streams import packed, positions, read_anew, written

FETCH_WORDS = 16  # CHUNK of rtl/tiling/command/command_fetch.sv
FETCH_AHEAD = 4  # chunks that have place in its queue: DEPTH / CHUNK

READ_CLIENTS = {
    Stream.IFMAP: "GLB_IFMAP_BYTES",
    Stream.FILTER: "GLB_FILTER_BYTES",
    Stream.DEPTHWISE: "GLB_DEPTHWISE_BYTES",
    Stream.PARAMETERS: "GLB_PARAMETERS_BYTES",
    Stream.IPSUM: "GLB_IPSUM_BYTES",
    Stream.RESIDUAL: "GLB_RESIDUAL_BYTES",
}
COUNTERS = (
    "DRAM_READ_BYTES",
    "DRAM_WRITE_BYTES",
    "COMMAND_BYTES",
    *READ_CLIENTS.values(),
    "GLB_STORE_BYTES",
    "GLB_OFMAP_BYTES",
    "GLB_LOAD_BYTES",
    "DECODED_BYTES",
)


def saved_by_codes(counters: Mapping[str, int]) -> int:
    """Return the bytes by which coded constants are shorter: what LOADs put into the GLB and did not read."""
    return counters["GLB_LOAD_BYTES"] + counters["COMMAND_BYTES"] - counters["DRAM_READ_BYTES"]


def command_bytes(words: int, room: int) -> int:
    """Bytes that a list of so many words (END included) costs to fetch; room: bytes from its start to the
    end of the DRAM window. The fetcher asks for another chunk whenever it has place for one; the last time in
    the cycle in which END, word `words - 1`, is taken."""
    chunks = (words - 1) // FETCH_WORDS + FETCH_AHEAD
    return min(chunks * FETCH_WORDS * GLB_WORD_BYTES, room)


def _inside(stream: StreamDescriptor, axis: Axis, start: int, limit: int) -> int:
    """Iterations of the loops along one axis whose coordinate is within 0 to limit - 1."""
    places = [start]
    for level in stream.levels:
        if level.axis == axis and level.count > 1:
            places = [p + n * level.step for p in places for n in range(level.count)]
    return sum(0 <= p < limit for p in places)


def _others(stream: StreamDescriptor) -> int:
    """Iterations of the loops along no axis."""
    product = 1
    for level in stream.levels:
        product *= level.count if level.axis == Axis.NONE else 1
    return product


def _pairs_inside(stream: StreamDescriptor) -> int:
    """Words inside along the columns, of both lanes of all pairs, less those beyond the ends of rows; of packed pixels
    one for each pair of which any is."""
    options, pair = stream.options, stream.options["pair_level"]
    places = [(stream.range["x"], True, True)]  # column, in the first pair, in the last
    for n, level in enumerate(stream.levels):
        if n != pair and (level.axis != Axis.COLUMN or level.count == 1):
            continue
        places = [
            (
                x + k * level.step * (level.axis == Axis.COLUMN),
                k == 0 if n == pair else first,
                k == level.count - 1 if n == pair else last,
            )
            for x, first, last in places
            for k in range(level.count)
        ]
    found = 0
    for x, first, last in places:
        odd = x % 2
        low = 0 <= x - odd < stream.range["cols"] and not (first and odd)
        high = 0 <= x - odd + 1 < stream.range["cols"] and not (last and odd != options["odd_words"])
        found += low or high if options["packed_pixels"] else low + high
    return found


def read_words(stream: StreamDescriptor, lanes: int, keeps: bool = False) -> int:
    """GLB words that a read stream of one or two lanes fetches in a pass; places outside cost none.

    keeps: the stream keeps the word that it read last
    """
    if not stream.options["enable"]:
        return 0
    if keeps:
        return int(read_anew(stream, positions(stream)).sum())
    rows = _inside(stream, Axis.ROW, stream.range["y"], stream.range["rows"])
    others = _others(stream)
    start, cols = stream.range["x"], stream.range["cols"]
    lanes = 1 if stream.options["single"] else lanes
    if lanes == 1 or not (start % 2 or stream.options["odd_words"] or packed(stream, lanes)):
        return rows * others * sum(_inside(stream, Axis.COLUMN, start + lane, cols) for lane in range(lanes))
    level = stream.levels[stream.options["pair_level"]]
    if level.axis != Axis.COLUMN:
        others //= level.count  # counted with the pairs
    return rows * others * _pairs_inside(stream)


def written_bytes(descriptor: Descriptor) -> int:
    """Bytes that the ofmap stream of a pass writes: words outside are dropped, the last block's may be partial."""
    stream = descriptor.stream(Stream.OFMAP)
    if not stream.options["enable"]:
        return 0
    if descriptor.drain["two_pixels"]:
        words = int(written(descriptor, positions(stream)).sum())
    else:
        words = _inside(stream, Axis.ROW, stream.range["y"], stream.range["rows"])
        words *= _inside(stream, Axis.COLUMN, stream.range["x"], stream.range["cols"])
        words *= _others(stream)
    blocks = stream.levels[enc.OFMAP_BLOCK_LEVEL].count * stream.levels[enc.OFMAP_TILE_LEVEL].count
    last = stream.options["last_strobe"].bit_count()
    return words // blocks * ((blocks - 1) * GLB_WORD_BYTES + last)


def transfer_bytes(transfer: Transfer) -> dict[str, int]:
    """Bytes that a LOAD or STORE moves, by counter."""
    dram, glb = ("DRAM_READ_BYTES", "GLB_LOAD_BYTES") if transfer.load else ("DRAM_WRITE_BYTES", "GLB_STORE_BYTES")
    moved = (dram, transfer.dram_words), (glb, transfer.words)
    found = {name: words * transfer.rows * GLB_WORD_BYTES for name, words in moved}
    return found | {"DECODED_BYTES": found[glb]} if transfer.coded else found


def pass_bytes(config: AcceleratorConfig, descriptor: Descriptor) -> dict[str, int]:
    """GLB bytes of a pass by counter."""
    lanes = {Stream.IFMAP: 2, Stream.FILTER: config.filter_lanes}
    found = {
        name: read_words(descriptor.stream(stream), lanes.get(stream, 1), stream == Stream.RESIDUAL) * GLB_WORD_BYTES
        for stream, name in READ_CLIENTS.items()
    }
    return found | {"GLB_OFMAP_BYTES": written_bytes(descriptor)}
