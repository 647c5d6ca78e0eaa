"""Batches: which groups each image goes through by itself, and which all go through together.

A group that all images go through together has its weights fetched once for all of them, but needs room in
the GLB for the maps of all. The first groups, whose maps are large, are gone through image by image; the
others, whose weights are many, together. Where a depthwise-separable block does not fit either way its two
halves may be groups of their own: the depthwise half leaves a smaller map (stride 2), or one in place of its
input (stride 1), and the pointwise half can be done in slices of filters.
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
    run. Exact over where the chain is cut into image by image and together, and over the blocks that are
    done in halves. refused: keys of segments that could not be placed. Raises DoesNotFit."""
    if images == 1:
        return groups, best_segments(groups, machine, objective, refused)[1]
    best, reason = None, None
    for alone, together in _cuts(groups, images):
        try:
            parts = [best_segments(part, machine, objective, refused) for part in (alone, together) if part]
        except DoesNotFit as error:
            reason = reason or error
            continue
        times = (images, 1)
        cost = tuple(sum(n * part[0][k] for n, part in zip(times, parts)) for k in range(2))
        if best is None or cost < best[0]:
            best = cost, alone, together, [part[1] for part in parts]
    if best is None:
        raise reason
    return _repeated(images, *best[1:])


def _cuts(groups: list[Group], images: int) -> Iterator[tuple[list[Group], list[Group]]]:
    """Groups for each image alone, and for all together: the chain cut between groups, or within a block."""
    for cut in range(len(groups), 0, -1):
        yield from _variants(groups[:cut], groups[cut:], images)
        if cut < len(groups) and _is_block(groups[cut]):
            first, second = halves(groups[cut])
            yield from _variants([*groups[:cut], first], [second, *groups[cut + 1 :]], images)


def _variants(alone: list[Group], together: list[Group], images: int) -> Iterator[tuple[list[Group], list[Group]]]:
    """Blocks of stride 1 that all images go through are done in one piece or in halves."""
    choices = [[[group], [*halves(group)]] if _is_block(group) and group.window.stride == 1 and not group.pool_count
               else [[group]] for group in together]
    for choice in product(*choices):
        yield alone, [replace(group, images=images) for part in choice for group in part]


def _is_block(group: Group) -> bool:
    return group.depthwise is not None and group.filters is not None


def _repeated(images: int, alone: list[Group], together: list[Group], plans: list[list[Segment]]) -> Network:
    """All groups and segments of a batch: `alone` once for each image, then `together`."""
    groups = [replace(group, name=f"{group.name}.{image}", image=image) for image in range(images) for group in alone]
    groups += together
    network, found = tuple(groups), []
    starts = [*((image * len(alone), plans[0]) for image in range(images))]
    starts += [(images * len(alone), plan) for plan in plans[1:]]
    for start, plan in starts:
        found += [replace(s, network=network, first=s.first + start, last=s.last + start) for s in plan]
    return groups, found
