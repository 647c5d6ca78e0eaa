# SPDX-License-Identifier: Apache-2.0
"""Mappings of a group's jobs, found once; why there is none."""

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Depthwise, Elementwise, Group, Separable
from compiler.ir.plan import Way
from compiler.target.limits import most_pixels
from compiler.target.mapping import Mapping, mappings, runs_on
from model.config import SET_ROWS, MachineConfig
from model.messages import times

_mappings: dict[tuple, list] = {}


def mappings_of(machine: MachineConfig, group: Group, rows: int, way: Way = Way.WHOLE) -> list:
    """mappings(), remembered; raises DoesNotFit where there is none.

    In place only those are right that have all pixels of the job's image in flight, and read them with the
    first tile of filters only: else an output would take words that the next block or tile still reads.
    """
    in_place = way is Way.IN_PLACE
    key = (machine, group.geometry, rows, in_place)
    if key not in _mappings:
        found = mappings(machine, group, rows)
        _mappings[key] = [m for m in found if not in_place or _reads_once(group, m)]
    if not _mappings[key]:
        raise _unmapped(machine, group, rows)
    return _mappings[key]


def _unmapped(machine: MachineConfig, group: Group, rows: int) -> DoesNotFit:
    """Why a group has no mapping."""

    def failure(what: str, **fields) -> DoesNotFit:
        return DoesNotFit(f"group {group.name}: {what}", layer=group.name, **fields)

    if group.images:
        return failure(f"no mapping of {group.images} images at once fits the PEs")
    if not runs_on(machine, group):
        kind, needed = "depthwise" if isinstance(group, Depthwise) else "full", 2 * SET_ROWS
        return failure(f"a {kind} convolution runs on {needed} rows of PEs only, there are {machine.rows}",
                       demand=needed, bound=machine.rows, remedy=f"use rows = {needed}")
    room = machine.cols * most_pixels(machine)
    if group.averaged > room:
        return failure(f"an average over {times(group.map_shape)} pixels needs all of them in flight at once, "
                       f"there is room for {room}", demand=group.averaged, bound=room,
                       remedy="give the map another size")
    return failure(f"no mapping of {rows} output rows fits the PEs: psum_words = {machine.psum_words}, "
                   f"ifmap_words = {machine.ifmap_words}, filter_words = {machine.filter_words}, "
                   f"word_buffer_words = {machine.word_buffer_words}", remedy="use larger ones")


def _reads_once(group: Group, mapping: Mapping) -> bool:
    """Whether all that a job reads of an image has been read before its first output is written."""
    blocks = mapping.blocks
    return isinstance(group, Elementwise) or (blocks.outer == 1 and (blocks.inner == 1 or blocks.images > 0)
            and (mapping.tiles == 1 or isinstance(group, (Depthwise, Separable))))


def first_tile(group: Group, way: Way, machine: MachineConfig) -> int:
    """Filters of the first tile of a whole-map depthwise-separable group that keeps all its depthwise
    words, and so reads its input with that tile only; 0 for others."""
    if way is not Way.WHOLE or not isinstance(group, (Depthwise, Separable)) or group.averaged and not group.images:
        return 0
    found = mappings_of(machine, group, group.map_shape[0])
    return next((m.tile for m in found if m.blocks.outer == 1 and m.tiles > 1), 0)
