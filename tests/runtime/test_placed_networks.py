# SPDX-License-Identifier: Apache-2.0
"""Several networks in the driver's window, and maps that lie outside of them, on an accelerator that the functional
simulator executes."""

import ctypes
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.image import Image
from eyrie.runtime.soc.driver import RESULTS, U32, Device, Placement, described
from tests.runtime.driven_networks import Driven, every_layout
from tests.runtime.driver_library import Modelled, build

LOOKS, BASE, STEP = 10, 3 << 16, 64


class Placing:
    """The driver, with a device on a modelled accelerator."""

    def __init__(self, library: ctypes.CDLL, window: int) -> None:
        self.library, self.config, self.device = library, Modelled(BASE, window), Device()
        assert self.call("open", ctypes.byref(self.config.platform)) == "OK"

    def call(self, name: str, *arguments: object) -> str:
        return RESULTS[getattr(self.library, f"eyrie_{name}")(ctypes.byref(self.device), *arguments)]

    def take(
        self, image: Image, place: bool, offset: int, inputs: Sequence[int] | None, outputs: Sequence[int] | None
    ) -> str:
        """eyrie_place, or eyrie_bind."""
        self.network = described(image)
        self.ends = [ends and (U32 * len(ends))(*ends) for ends in (inputs, outputs)]
        self.placement = Placement(offset, *self.ends)
        size = [ctypes.c_size_t(image.dram.size)] if place else []
        return self.call(
            "place" if place else "bind",
            ctypes.byref(self.network),
            ctypes.c_void_p(image.dram.ctypes.data),
            *size,
            ctypes.byref(self.placement),
        )

    def check(self, driven: Driven) -> None:
        """A run gives what the operators compute."""
        for number, (name, place) in enumerate(driven.image.inputs.items()):
            for n, one in enumerate(driven.inputs[name].reshape(-1, *place.shape)):
                values = np.ascontiguousarray(one)
                assert (
                    self.call("put_input", number, n, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.size))
                    == "OK"
                )
        assert self.call("run", LOOKS) == "OK"
        for number, (name, wanted) in enumerate(driven.outputs.items()):
            for n, one in enumerate(wanted.reshape(-1, *driven.image.outputs[name].shape)):
                values = np.zeros(one.shape, np.int8)
                assert (
                    self.call(
                        "get_output", number, n, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.size)
                    )
                    == "OK"
                )
                np.testing.assert_array_equal(values, one)


@pytest.fixture(scope="module")
def networks(seed: int) -> list[Driven]:
    return every_layout(np.random.default_rng(seed + 1))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("driver") / "build")


def beyond(rng: np.random.Generator, image: Image, end: int) -> tuple[list[int], list[int], int]:
    """Places of the network's maps behind byte `end`, with gaps, and where they end."""
    found = []
    for ends in (image.inputs, image.outputs):
        places = []
        for place in ends.values():
            places.append(end + 8 * int(rng.integers(20)))
            layout = place.layout
            pitch = layout.cols // (2 if layout.packed else 1) + 4
            end = places[-1] + 8 * image.images * layout.rows * layout.groups * pitch
        found.append(places)
    return *found, -(-end // STEP) * STEP


def test_networks_beside_each_other(networks: list[Driven], library: ctypes.CDLL, seed: int) -> None:
    """All in one window, each with its maps where they were at first, then elsewhere, then back in the network; nothing
    of the others changes."""
    rng, at, places = np.random.default_rng(seed), 0, []
    for driven in networks:
        offset = at + STEP * int(rng.integers(4))
        inputs, outputs, at = beyond(rng, driven.image, offset + driven.image.dram.size)
        places.append((offset, inputs, outputs))
    spare = at
    moved = [beyond(rng, driven.image, spare) for driven in networks]
    placing = Placing(library, max(end for *_, end in moved))
    for driven, place in zip(networks, places):
        assert placing.take(driven.image, True, *place) == "OK"
        placing.check(driven)
    for driven, (offset, *_), (inputs, outputs, _) in zip(networks, places, moved):
        for ends in ((inputs, outputs), (None, None), (inputs, None), (None, outputs)):
            before = placing.config.memory.copy()
            assert placing.take(driven.image, False, offset, *ends) == "OK"
            placing.check(driven)
            changed = np.flatnonzero(before != placing.config.memory) - BASE
            own = (changed >= offset) & (changed < offset + driven.image.dram.size)
            assert (own | (changed >= spare)).all()


def test_rejected(networks: list[Driven], library: ctypes.CDLL) -> None:
    """A place that is none, on nothing of which anything is written."""
    image = networks[0].image
    size = -(-image.dram.size // STEP) * STEP
    placing = Placing(library, 2 * size)
    last = 2 * size - 8
    rejections = {
        "BAD_ARGUMENT": [(8, None, None)],
        "NO_ROOM": [
            (size + STEP, None, None),
            (2**32 - STEP, None, None),
            (0, [4], None),
            (0, [last], None),
            (0, None, [last]),
            (0, None, [2**32 - 8]),
        ],
    }
    for place in (True, False):
        for expected, cases in rejections.items():
            assert [placing.take(image, place, *case) for case in cases] == len(cases) * [expected]
    assert not placing.config.memory.any()
    other = replace(image, dram=image.dram ^ 1)
    placing.network = described(image)
    assert (
        placing.call(
            "place",
            ctypes.byref(placing.network),
            ctypes.c_void_p(other.dram.ctypes.data),
            ctypes.c_size_t(other.dram.size),
            ctypes.byref(Placement()),
        )
        == "OTHER_IMAGE"
    )
    for name, count in (("place", 4), ("bind", 3)):
        given = [ctypes.byref(placing.network), ctypes.c_void_p(image.dram.ctypes.data), ctypes.byref(Placement())]
        given[2:2] = [ctypes.c_size_t(image.dram.size)] * (count - 3)
        for number in (0, 1, count - 1):
            nulls = [None if n == number else each for n, each in enumerate(given)]
            assert placing.call(name, *nulls) == "BAD_ARGUMENT"
