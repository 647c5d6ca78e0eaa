# SPDX-License-Identifier: Apache-2.0
"""Index maps: which values of other tensors a tensor has, through several data-movement operators.

The map of two operators is the composition of their maps (arXiv:2002.12798, section 2.1). Maps list all places
explicitly, so that any operators compose, not only affine ones.
"""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.operators.composed import Composed
from eyrie.compiler.operators.move import Movement
from eyrie.compiler.operators.moves import MOST_PLACES, Unmovable, places_of
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.shapes import Reshape


@dataclass(frozen=True, eq=False)
class IndexMap:
    """The index map of a tensor.

    sources  the tensors that its values come from
    places   as in Composed; its shape is the tensor's
    fill     the value at places -1
    of       the names of the data-movement operators, the first one first
    """

    sources: tuple[Tensor, ...]
    places: np.ndarray
    fill: int
    of: tuple[str, ...] = ()

    def through(self, inner: dict[str, "IndexMap"]) -> "IndexMap":
        """Return the map with sources replaced by their own index maps. inner: these maps, by tensor name. Raise
        Unmovable."""
        sources: dict[str, int] = {}  # first place of each source
        total, fills, names = 0, set[int](), tuple[str, ...]()
        maps = [inner.get(source.name, itself(source)) for source in self.sources]
        for each in maps:
            names += each.of
            for source in each.sources:
                if source.name not in sources:
                    sources[source.name] = total
                    total += source.size
        moved = []
        for each in maps:
            moved.append(_counted_from(each, sources))
            fills |= {each.fill} if np.any(each.places < 0) else set()
        fills |= {self.fill} if np.any(self.places < 0) else set()
        if len(fills) > 1:
            raise Unmovable("constants of several values")
        places = np.where(self.places < 0, -1, np.concatenate(moved)[self.places])
        taken = {source.name: source for each in maps for source in each.sources}
        return IndexMap(tuple(taken.values()), places, next(iter(fills), 0), (*names, *self.of))

    @property
    def operator(self) -> Operator:
        """Return the simplest operator with this map."""
        if len(self.sources) == 1:
            source = self.sources[0]
            if np.array_equal(self.places.reshape(-1), np.arange(source.size)):
                return Reshape(to=self.places.shape)
            if margins := _margins(self.places, source.shape):
                return Pad(margins=margins, value=self.fill)
        return Composed(of=self.of, places=self.places, fill=self.fill)


def itself(tensor: Tensor) -> IndexMap:
    return IndexMap((tensor,), np.arange(tensor.size).reshape(tensor.shape), 0)


def _counted_from(inner: IndexMap, firsts: dict[str, int]) -> np.ndarray:
    """Return the flat places, offset by the first place of each source."""
    counted = [np.arange(source.size) + firsts[source.name] for source in inner.sources]
    return np.append(np.concatenate(counted), -1)[inner.places.reshape(-1)]


def _margins(places: np.ndarray, source: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the margins if the map is a whole tensor with constants around it, else ()."""
    there = np.argwhere(places == 0)
    if len(source) != places.ndim or len(there) != 1:
        return ()
    margins = tuple(
        (int(before), int(all_ - before - size)) for before, size, all_ in zip(there[0], source, places.shape)
    )
    if min(after for _, after in margins) < 0:
        return ()
    whole = np.pad(np.arange(np.prod(source)).reshape(source), margins, constant_values=-1)
    return margins if np.array_equal(whole, places) else ()


def is_move(node: Node) -> bool:
    """Return whether a node is a data-movement operator on int8 values."""
    if not isinstance(node.operator, Movement) or getattr(node.operator, "unsigned", False):
        return False
    tensors = (*node.inputs, *node.outputs)
    maps = [
        tensor
        for tensor in tensors
        if isinstance(tensor, Quantized) and not isinstance(tensor, Constant) and tensor.dtype == "int8"
    ]
    if len(maps) < len(tensors) or len({map_.quantization for map_ in maps}) != 1:
        return False
    return max(map_.size for map_ in maps) <= MOST_PLACES


def index_maps(node: Node) -> list[IndexMap]:
    """Return the index map of each output of a data-movement operator. Raise Unmovable."""
    operator = node.operator
    if isinstance(operator, Composed):
        return [IndexMap(node.inputs, operator.places, operator.fill, operator.of)]
    return [IndexMap(node.inputs, places, fill, (operator.name,)) for places, fill in places_of(node)]
