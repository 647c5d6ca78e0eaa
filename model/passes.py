# SPDX-License-Identifier: Apache-2.0
"""One processing pass on GLB contents: streams, array, PPU, ofmap."""

from dataclasses import dataclass

import numpy as np

from model import ppu, streams
from model.array import ArrayModel, drain_beats
from model.config import MachineConfig
from model.descriptor import Descriptor
from model.encoding import ArrayMode, Stream


@dataclass(frozen=True)
class PassTrace:
    """What one pass did, for comparison.

    sums    int32 [tiles, beats, cols]: what left the array, in drain order (words of a depthwise pass); none of an
            elementwise pass
    words   uint64: what the PPU gave to the ofmap stream, or None
    written ofmap bytes written into the GLB; signature of those writes (`streams.write`)
    """

    descriptor: Descriptor
    sums: np.ndarray
    words: np.ndarray | None
    written: int
    signature: int


def run_pass(config: MachineConfig, descriptor: Descriptor, glb: np.ndarray,
             filters: streams.Beats | None = None) -> PassTrace:
    """Carries out a pass; `glb` (uint64) receives the ofmap.

    filters: the filter stream's beats, where they do not all lie in the GLB at once.
    """

    def beats(stream: Stream, lanes: int = 1) -> streams.Beats | None:
        program = descriptor.stream(stream)
        return streams.read(program, glb, lanes) if program.options["enable"] else None

    def data(stream: Stream) -> np.ndarray | None:
        read = beats(stream)
        return None if read is None else read.data[:, 0]

    ifmap, words = beats(Stream.IFMAP, 2), None
    if descriptor.shape["mode"] == ArrayMode.ELEMENTWISE:
        out = ppu.operate(descriptor, ifmap.data[:, 0], data(Stream.RESIDUAL), data(Stream.TABLE))
        sums = np.zeros((0, 0, config.cols), np.int32)
        return PassTrace(descriptor, sums, out, *streams.write(descriptor.stream(Stream.OFMAP), glb, out))
    array = ArrayModel(config, descriptor)
    if array.mode in (ArrayMode.FUSED, ArrayMode.DEPTHWISE):
        words = array.depthwise_words(ifmap, beats(Stream.DEPTHWISE))
    if array.mode == ArrayMode.DEPTHWISE:
        sums = array.drain_words(words)
    else:
        sums = array.drain(array.psums(ifmap, filters or beats(Stream.FILTER, config.filter_lanes), words))
        if descriptor.drain["ipsum"]:
            sums = sums + _ipsums(data(Stream.IPSUM), sums.shape, descriptor.drain["columns"])
    if not descriptor.drain["to_ppu"]:
        return PassTrace(descriptor, sums, None, 0, 0)
    order = drain_beats(descriptor).order
    out = ppu.words(descriptor, sums, order, data(Stream.TABLE), data(Stream.RESIDUAL))
    return PassTrace(descriptor, sums, out, *streams.write(descriptor.stream(Stream.OFMAP), glb, out))


def _ipsums(words: np.ndarray, shape: tuple[int, ...], columns: int) -> np.ndarray:
    """Sums the chains start with: int32 of `shape` [tiles, beats, cols], two columns a GLB word."""
    result = np.zeros(shape, np.int32)
    values = words.reshape(shape[0], shape[1], (columns + 1) // 2).view(np.int32)
    result[:, :, :columns] = values[:, :, :columns]
    return result
