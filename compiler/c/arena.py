# SPDX-License-Identifier: Apache-2.0
"""Memory allocation of tensors in one array: tensors that live at the same time share no byte."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_TRIES = 300


@dataclass(frozen=True)
class Lifetime:
    """The lifetime of a tensor. first, last: the first and the last step that need its bytes"""

    name: str
    size: int
    first: int
    last: int

    def meets(self, other: "Lifetime") -> bool:
        return self.first <= other.last and other.first <= self.last


def placed(lifetimes: Sequence[Lifetime]) -> tuple[dict[str, int], int, int]:
    """Return the address of each tensor by name, the size of the arena, and the lower bound: the largest size of all
    tensors that live at the same step.

    Place the largest tensors first, each at the lowest free address. Then move random tensors in this order (always the
    same for the same input), until the size reaches the lower bound or the tries are used up.
    """
    least = max(
        (
            sum(each.size for each in lifetimes if each.first <= step <= each.last)
            for step in {each.first for each in lifetimes}
        ),
        default=0,
    )
    order = sorted(lifetimes, key=lambda each: (-each.size, each.first))
    best = _places(order)
    chance = random.Random(1)
    for _ in range(_TRIES):
        if _size(best, lifetimes) == least:
            break
        changed = list(order)
        changed.insert(chance.randrange(len(order)), changed.pop(chance.randrange(len(order))))
        places = _places(changed)
        if _size(places, lifetimes) <= _size(best, lifetimes):
            order, best = changed, places
    return best, _size(best, lifetimes), least


def _places(order: Iterable[Lifetime]) -> dict[str, int]:
    places: dict[str, int] = {}
    done: list[Lifetime] = []
    for each in order:
        place = 0
        for other in sorted((other for other in done if other.meets(each)), key=lambda other: places[other.name]):
            if place + each.size <= places[other.name]:
                break
            place = max(place, places[other.name] + other.size)
        places[each.name] = place
        done.append(each)
    return places


def _size(places: dict[str, int], lifetimes: Iterable[Lifetime]) -> int:
    return max((places[each.name] + each.size for each in lifetimes), default=0)
