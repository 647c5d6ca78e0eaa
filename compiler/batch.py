"""Batches: which groups each image goes through by itself, and which all go through together.

A group that all images go through together has its weights fetched once for all of them, but needs room in
the GLB for the maps of all. The first groups, whose maps are large, are gone through image by image; the
others, whose weights are many, together. Where a depthwise-separable block does not fit either way its two
halves may be groups of their own: the depthwise half leaves a smaller map (stride 2), or one in place of its
input (stride 1), and the pointwise half can be done in slices of filters. A batch of more images than go
together well is done in several turns.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from compiler.descriptors import Window
from compiler.groups import Group
from compiler.placement import DoesNotFit
from compiler.segments import Segment, best_segments
from model.config import MachineConfig
from model.operators import Quantization

Network = tuple[list[Group], list[Segment]]
Plan = tuple[tuple[float, float], list[Segment]]  # with its cost


def halves(group: Group) -> tuple[Group, Group]:
    """The depthwise and the pointwise half of a block, as groups of their own."""
    between = replace(group.output, name=f"{group.output.name}.depthwise",
                      shape=(*group.map_shape, group.source.shape[2]),
                      quantization=Quantization(1.0, group.middle.output.zero_point))
    number = group.name.removeprefix("block")
    first = replace(group, name=f"depthwise{number}", output=between, filters=None, table=None, pool_count=0)
    second = replace(group, name=f"pointwise{number}", source=between, window=Window(), depthwise=None, middle=None)
    return first, second


def plan_batch(groups: list[Group], machine: MachineConfig, objective: str, images: int,
               refused: frozenset) -> Network:
    """The groups and segments of a network for a batch of images that cost least, in the order in which they
    run. Exact over how many images go together, where the chain is cut into image by image and together, and
    which blocks are done in halves. refused: keys of segments that could not be placed. Raises DoesNotFit."""
    if images == 1:
        return groups, best_segments(groups, machine, objective, refused)[1]
    planned: dict[tuple, Plan | DoesNotFit] = {}

    def plan(part: list[Group]) -> Plan:
        key = tuple((group.layer, group.images) for group in part)
        if key not in planned:
            try:
                planned[key] = best_segments(part, machine, objective, refused) if part else ((0, 0), [])
            except DoesNotFit as error:
                planned[key] = error
        if isinstance(planned[key], DoesNotFit):
            raise planned[key]
        return planned[key]

    best, reason = None, None
    for count in (n for n in range(1, images + 1) if images % n == 0):
        for alone, together in _cuts(groups, count):
            try:
                plans = plan(alone), plan(together)
            except DoesNotFit as error:
                reason = reason or error
                continue
            cost = tuple(images * one + images // count * all_ for (one, all_) in zip(plans[0][0], plans[1][0]))
            if best is None or cost < best[0]:
                best = cost, count, [(alone, plans[0][1]), (together, plans[1][1])]
    if best is None:
        raise reason
    return _repeated(images, *best[1:])


def _cuts(groups: list[Group], images: int) -> Iterator[tuple[list[Group], list[Group]]]:
    """Groups for each image alone, and for so many together: the chain cut between groups, or within a block."""
    yield groups, []
    if images == 1:
        return
    for cut in range(len(groups) - 1, 0, -1):
        yield from _variants(groups[:cut], groups[cut:], images)
        if _is_block(groups[cut]):
            first, second = halves(groups[cut])
            yield from _variants([*groups[:cut], first], [second, *groups[cut + 1 :]], images)


def _variants(alone: list[Group], together: list[Group], images: int) -> Iterator[tuple[list[Group], list[Group]]]:
    """Blocks of stride 1 that several images go through are done in one piece or in halves."""
    choices = [[[group], [*halves(group)]] if _is_block(group) and group.window.stride == 1 and not group.pool_count
               else [[group]] for group in together]
    for choice in product(*choices):
        yield alone, [replace(group, images=images) for part in choice for group in part]


def _is_block(group: Group) -> bool:
    return group.depthwise is not None and group.filters is not None


def _repeated(images: int, count: int, parts: list[Network]) -> Network:
    """All groups and segments of a batch: for every `count` images the first part once for each, then the second
    for all of them."""
    groups: list[Group] = []
    plans: list[tuple[int, list[Segment]]] = []  # and the place of their first group
    for first in range(0, images, count):
        turns = [(parts[0], image) for image in range(first, first + count)] + [(parts[1], first)]
        for (part, segments), image in turns:
            plans.append((len(groups), segments))
            groups += [replace(group, name=f"{group.name}.{image}", image=image) for group in part]
    network = tuple(groups)
    return groups, [replace(s, network=network, first=s.first + start, last=s.last + start)
                    for start, segments in plans for s in segments]
