# SPDX-License-Identifier: Apache-2.0
"""The layout of a diagram: boxes in layers, so that all arrows lead down and no arrow crosses a box.

The layered method of Sugiyama, Tagawa and Toda (1981): a layer for each box, a waypoint in every layer that an arrow
crosses, an order of each layer with few crossings, and positions near the neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

GAP = 26  # between neighbours of a layer
_BETWEEN = 26  # between layers, at least
_SLOPE = 0.07  # added for an arrow's distance to the side
_MOST_BETWEEN = 90
_WAYPOINT = 8  # width of an arrow's way through a layer
_SWEEPS = 12

Size = tuple[float, float]
Point = tuple[float, float]


Key = str | tuple[int, int]  # of a box; of a waypoint: number of the arrow, layer


@dataclass(frozen=True)
class Layout:
    """The positions in a diagram.

    corners: left and top of each box; routes: for each arrow, the points at which it leaves a layer and enters the next
    one, from the bottom of a box to the top of another.
    """

    width: float
    height: float
    corners: dict[str, Point]
    routes: list[list[Point]]


def layout(sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]]) -> Layout:
    """Return the layout; `sizes` has (width, height) by key.

    Raise graphlib.CycleError if the arrows form a cycle.
    """
    if not sizes:
        return Layout(0, 0, {}, [])
    return _Layout(sizes, list(arrows)).made()


class _Layout:
    """The state of the layout.

    sizes: of boxes and waypoints; paths: for each arrow, the keys from its first box to its last one, one in each
    layer; layers: keys from left to right; centres: horizontal centres by key.
    """

    def __init__(self, sizes: Mapping[str, Size], arrows: list[tuple[str, str]]) -> None:
        self.boxes = list(sizes)
        self.sizes: dict[Key, Size] = {}
        for key in self.boxes:
            self.sizes[key] = sizes[key]
        level = _levels(self.boxes, arrows)
        self.layers: list[list[Key]] = [[] for _ in range(max(level.values()) + 1)]
        for key in self.boxes:
            self.layers[level[key]].append(key)
        self.paths: list[list[Key]] = []
        for number, (source, target) in enumerate(arrows):
            waypoints = [(number, n) for n in range(level[source] + 1, level[target])]
            for waypoint in waypoints:
                self.sizes[waypoint] = _WAYPOINT, 0
                self.layers[waypoint[1]].append(waypoint)
            self.paths.append([source, *waypoints, target])
        self.above: dict[Key, list[Key]] = {key: [] for key in self.sizes}
        self.below: dict[Key, list[Key]] = {key: [] for key in self.sizes}
        for path in self.paths:
            for upper, lower in pairwise(path):
                self.above[lower].append(upper)
                self.below[upper].append(lower)
        self.centres: dict[Key, float] = {}

    def made(self) -> Layout:
        self._order()
        self._centre()
        left = min(self.centres[key] - self.sizes[key][0] / 2 for key in self.sizes)
        centres = {key: centre - left for key, centre in self.centres.items()}
        tops = self._tops()
        corners = {
            key: (centres[key] - self.sizes[key][0] / 2, top)
            for top, layer in zip(tops, self.layers)
            for key in layer
            if isinstance(key, str)
        }
        feet = [top + self._depth(layer) for top, layer in zip(tops, self.layers)]
        level = {key: n for n, layer in enumerate(self.layers) for key in layer}
        routes = [self._route(path, corners, centres, level, tops, feet) for path in self.paths]
        width = max(centres[key] + self.sizes[key][0] / 2 for key in self.sizes)
        return Layout(width, feet[-1], corners, routes)

    # ---- Order ----

    def _order(self) -> None:
        """Order each layer by the mean position of the neighbours of its keys, downwards and upwards in turn; keep the
        best.
        """
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            downward = sweep % 2 == 0
            neighbours = self.above if downward else self.below
            for n in range(1, len(self.layers)) if downward else range(len(self.layers) - 2, -1, -1):
                beside = {key: place for place, key in enumerate(self.layers[n - 1 if downward else n + 1])}
                own = {key: place for place, key in enumerate(self.layers[n])}

                def wanted(key: Key) -> float:
                    near = [beside[other] for other in neighbours[key]]
                    return sum(near) / len(near) if near else own[key]

                self.layers[n].sort(key=wanted)
            found = self._crossings()
            if found < fewest:
                best, fewest = [list(layer) for layer in self.layers], found
        self.layers = best

    def _crossings(self) -> int:
        total = 0
        for layer, lower in pairwise(self.layers):
            places = {key: place for place, key in enumerate(lower)}
            ends = [end for key in layer for end in sorted(places[other] for other in self.below[key])]
            total += sum(ends[i] > end for j, end in enumerate(ends) for i in range(j))
        return total

    # ---- Places ----

    def _centre(self) -> None:
        """Move centres towards the neighbours, above and below in turn."""
        for layer in self.layers:
            self._put(layer, dict.fromkeys(layer, 0.0))
        for sweep in range(2 * _SWEEPS):
            downward = sweep % 2 == 0
            for layer in self.layers if downward else reversed(self.layers):
                near = {key: [self.centres[other] for other in self._near(key, downward)] for key in layer}
                self._put(
                    layer, {key: sum(each) / len(each) if each else self.centres[key] for key, each in near.items()}
                )

    def _near(self, key: Key, downward: bool) -> list[Key]:
        first, second = (self.above, self.below) if downward else (self.below, self.above)
        return first[key] or second[key]

    def _put(self, layer: list[Key], wanted: dict[Key, float]) -> None:
        """Place the boxes of a layer as near to the wanted centres as their order and widths allow.

        Minimise the sum of squared distances by pooling neighbours that are too close.
        """
        offset, runs = 0.0, []  # of each run: the sum of its wishes, its weight, its keys with their offsets
        before = None
        for key in layer:
            if before is not None:
                offset += (self.sizes[before][0] + self.sizes[key][0]) / 2 + GAP
            before = key
            weight = 1 if isinstance(key, str) else 4  # arrows that pass through are to be straight
            runs.append((weight * (wanted[key] - offset), weight, [(key, offset)]))
            while len(runs) > 1 and runs[-2][0] / runs[-2][1] >= runs[-1][0] / runs[-1][1]:
                total, weight, keys = runs.pop()
                runs[-1] = runs[-1][0] + total, runs[-1][1] + weight, runs[-1][2] + keys
        for total, weight, keys in runs:
            self.centres |= {key: total / weight + offset for key, offset in keys}

    def _depth(self, layer: list) -> float:
        return max(self.sizes[key][1] for key in layer)

    def _tops(self) -> list[float]:
        """Return the tops of the layers. Layers are further apart if an arrow between them goes far to the side."""
        tops = [0.0]
        for layer in self.layers[:-1]:
            aside = max(
                (abs(self.centres[key] - self.centres[other]) for key in layer for other in self.below[key]), default=0
            )
            tops.append(tops[-1] + self._depth(layer) + min(_BETWEEN + _SLOPE * aside, _MOST_BETWEEN))
        return tops

    def _route(
        self, path: list, corners: dict, centres: dict, level: dict, tops: list[float], feet: list[float]
    ) -> list[Point]:
        first, *middle, last = path
        points = [(centres[first], corners[first][1] + self.sizes[first][1]), (centres[first], feet[level[first]])]
        for waypoint in middle:
            points += [(centres[waypoint], tops[level[waypoint]]), (centres[waypoint], feet[level[waypoint]])]
        return [*points, (centres[last], tops[level[last]])]


def _levels(boxes: list[str], arrows: list[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each box: one below the lowest box that leads to it.

    A box without incoming arrows is just above the boxes that it leads to.
    """
    before: dict[str, set[str]] = {key: set() for key in boxes}
    behind: dict[str, set[str]] = {key: set() for key in boxes}
    for source, target in arrows:
        before[target].add(source)
        behind[source].add(target)
    level: dict[str, int] = {}
    for key in TopologicalSorter(before).static_order():
        level[key] = max((level[other] + 1 for other in before[key]), default=0)
    for key in boxes:
        if not before[key] and behind[key]:
            level[key] = min(level[other] for other in behind[key]) - 1
    return level
