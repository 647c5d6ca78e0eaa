# SPDX-License-Identifier: Apache-2.0
"""One processing pass on GLB contents: streams, array, PPU, ofmap."""

from dataclasses import dataclass

import numpy as np

from eyrie.model import demand, ppu, streams
from eyrie.model.array import ArrayModel, drain_transfers
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Stream


@dataclass(frozen=True)
class PassTrace:
    """The results of one pass, for comparison.

    sums    int32 [tiles, sums of a column, cols]: sums that left the array, in drain order (words of a depthwise pass);
            empty for a vector pass
    words   uint64: the words from the PPU to the ofmap stream, or None
    written ofmap bytes written into the GLB; signature of those writes (`streams.write`)
    """

    descriptor: Descriptor
    sums: np.ndarray
    words: np.ndarray | None
    written: int
    signature: int


def run_pass(
    config: AcceleratorConfig, descriptor: Descriptor, glb: np.ndarray, filters: streams.Beats | None = None
) -> PassTrace:
    """Execute a pass; `glb` (uint64) receives the ofmap.

    `filters` has the beats of the filter stream if the filters come in chunks. Raise MissingWords, else OverrunWords,
    if the streams do not bring the words that the loops consume, and IndexError if a word is outside the GLB.
    """

    lanes = {Stream.IFMAP: 2, Stream.FILTER: config.filter_lanes}
    beats = {} if filters is None else {Stream.FILTER: filters}
    for stream in Stream:
        if stream not in beats and stream != Stream.OFMAP and descriptor.uses(stream):
            beats[stream] = streams.read(descriptor.stream(stream), glb, lanes.get(stream, 1))

    def data(stream: Stream) -> np.ndarray | None:
        return beats[stream].data[:, 0] if stream in beats else None

    if descriptor.shape["mode"] == ArrayMode.ELEMENTWISE:
        demand.check_words(descriptor, beats)
        first = beats[Stream.IFMAP]
        out = ppu.operate(descriptor, first.data, data(Stream.RESIDUAL), data(Stream.PARAMETERS), first.lanes)
        sums = np.zeros((0, 0, config.cols), np.int32)
        return PassTrace(descriptor, sums, out, *streams.write(descriptor.stream(Stream.OFMAP), glb, out))
    array = ArrayModel(config, descriptor)
    demand.check(array, beats)
    ifmap = beats[Stream.IFMAP]
    if array.mode == ArrayMode.DEPTHWISE:
        sums = array.drain_words(array.depthwise_words(ifmap, beats[Stream.DEPTHWISE]))
    else:
        words = array.depthwise_words(ifmap, beats[Stream.DEPTHWISE]) if array.mode == ArrayMode.FUSED else None
        sums = array.drain(array.psums(ifmap, beats[Stream.FILTER], words))
        if descriptor.drain["ipsum"]:
            sums = sums + _ipsums(beats[Stream.IPSUM].data[:, 0], sums.shape, descriptor.drain["columns"])
    if not descriptor.drain["to_ppu"]:
        return PassTrace(descriptor, sums, None, 0, 0)
    out = ppu.words(descriptor, sums, drain_transfers(descriptor), data(Stream.PARAMETERS), data(Stream.RESIDUAL))
    ofmap = descriptor.stream(Stream.OFMAP)
    return PassTrace(descriptor, sums, out, *streams.write(ofmap, glb, out, streams.written_lanes(descriptor)))


def _ipsums(words: np.ndarray, shape: tuple[int, ...], columns: int) -> np.ndarray:
    """Return the start values of the chains, int32 of `shape` [tiles, sums of a column, cols]; two in a GLB word."""
    result = np.zeros(shape, np.int32)
    values = words.reshape(shape[0], shape[1], (columns + 1) // 2).view(np.int32)
    result[:, :, :columns] = values[:, :, :columns]
    return result
