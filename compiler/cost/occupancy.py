# SPDX-License-Identifier: Apache-2.0
"""How much of the array the passes of each layer use, and how long they wait for transfers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from eyrie.compiler.cost.counters import counted
from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Command, Config, Run
from eyrie.model.config import GLB_WORD_BYTES, SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode


@dataclass(frozen=True)
class Occupancy:
    """The array during some passes. All fields are 0 if the PPU works without the array.

    issued_macs    MACs, padding included
    columns        PE columns with work, averaged over the time in the array
    pixels         pixels of a row that a PE computes at once, averaged over the MACs
    block_pixels   pixels of all blocks of all passes, of which some may lie beyond the ofmap
    word_channels  channels that PEs multiply at once: a smaller last word is padded
    filters        filters of a pass, padding included, at most
    ofmap_bytes    bytes that are written, recomputed rows included
    waited         predicted cycles in which the array was empty and the next pass waited for a transfer
    """

    issued_macs: int = 0
    columns: float = 0.0
    pixels: float = 0.0
    block_pixels: int = 0
    word_channels: int = 0
    filters: int = 0
    ofmap_bytes: int = 0
    waited: int = 0


def occupancies(image: Image, prediction: Prediction) -> list[Occupancy]:
    """Return the occupancy of each layer; prediction: of the image."""
    commands = image.commands
    passes, waits = list(_passes(image.config, commands)), _waits(commands, prediction)
    return [
        _together([passes[number] for number in step.passes], sum(waits[number] for number in step.passes))
        for step in image.steps
    ]


def _together(passes: Sequence[Occupancy], waited: int) -> Occupancy:
    issued = sum(each.issued_macs for each in passes)
    work = sum(each.issued_macs / each.columns for each in passes if each.columns)  # of a column
    return Occupancy(
        issued,
        issued / work if work else 0.0,
        sum(each.issued_macs * each.pixels for each in passes) / issued if issued else 0.0,
        sum(each.block_pixels for each in passes),
        max(each.word_channels for each in passes),
        max(each.filters for each in passes),
        sum(each.ofmap_bytes for each in passes),
        waited,
    )


def _passes(config: AcceleratorConfig, commands: Sequence[Command]) -> Iterator[Occupancy]:
    """Yield the occupancy of each pass, without its wait."""
    descriptor = Descriptor()
    for command, counts in zip(commands, counted(config, commands)):
        if isinstance(command, Config):
            descriptor.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Run):
            yield _of_pass(config, descriptor, counts["MACS"], counts["GLB_OFMAP_BYTES"])


def _of_pass(config: AcceleratorConfig, descriptor: Descriptor, issued: int, written: int) -> Occupancy:
    shape, loops, drain = descriptor.shape, descriptor.loops, descriptor.drain
    if shape["mode"] == ArrayMode.ELEMENTWISE:
        return Occupancy(ofmap_bytes=written)
    word, filters = GLB_WORD_BYTES, sum(shape[f"filters_{row}"] for row in range(SET_ROWS))
    if shape["mode"] == ArrayMode.CONVOLUTION:  # the rows of a set share its filters
        word = WORD_CHANNELS if loops["groups"] == 1 else word
        filters = shape["filters_0"] * drain["chains"] * drain["chain_sets"]
    if shape["mode"] == ArrayMode.DEPTHWISE:  # a filter for each channel; a group has a word, or half of one
        filters = loops["groups"] * word // (1 if config.sets > 1 else 2)
    columns, pixels = drain["columns"], shape["pixels"]
    at_once = columns * pixels * loops["inner"] * loops["outer"]
    return Occupancy(issued, columns, pixels, at_once, word, filters * loops["tiles"], written)


def _waits(commands: Sequence[Command], prediction: Prediction) -> list[int]:
    """Return the cycles that each pass waited for a transfer after the array had finished all earlier passes."""
    needed = accumulate((command.wait_transfers for command in commands if isinstance(command, Run)), max)
    found, free = list[int](), 0
    for count, times in zip(needed, prediction.passes, strict=True):
        arrived = prediction.transfers[count - 1].done if count else 0
        found.append(max(0, min(arrived, times.begun) - free))
        free = max(free, times.worked)
    return found
