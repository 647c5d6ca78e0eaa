# SPDX-License-Identifier: Apache-2.0
"""The image's map: where the GLB's buffers lie, and when."""

from itertools import combinations

import pytest

from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageBuffer
from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.runtime.bundled import MODEL


@pytest.fixture(scope="module", params=[1, 4])
def stages(request: pytest.FixtureRequest) -> Built:
    return compile_network(MODEL, search_iterations=1, images=request.param)


def test_buffers_share_no_byte(stages: Built) -> None:
    """Two that are there at a time lie apart, and all inside the GLB."""
    buffers = stages.image.buffers
    assert len(buffers) > 30 and max(b.address + b.bytes for b in buffers) <= 65_536
    for a, b in combinations(buffers, 2):
        apart = (
            a.address + a.bytes <= b.address or b.address + b.bytes <= a.address or a.last < b.first or b.last < a.first
        )
        assert apart, (a, b)


def test_buffers_are_those_of_the_schedule(stages: Built) -> None:
    """As --dump places prints them: from 0 on, first and last pass, all parts of a name together."""
    lines = [line.split(maxsplit=7) for line in dumped(stages, "places").splitlines()]
    printed = {(name, int(start), int(end), int(first), int(last)) for start, _, end, _, first, _, last, name in lines}
    spans: dict[str, list[ImageBuffer]] = {}
    for buffer in stages.image.buffers:
        spans.setdefault(buffer.name, []).append(buffer)
    names = {line[7] for line in lines}
    assert set(spans) == names
    single = {name for name in names if sum(line[7] == name for line in lines) == 1}
    assert single
    for name in single:
        parts = spans[name]
        assert (
            name,
            min(b.address for b in parts),
            max(b.address + b.bytes for b in parts),
            min(b.first for b in parts) // 2,
            max(b.last for b in parts) // 2,
        ) in printed


def test_map_is_loaded_as_saved(stages: Built, tmp_path) -> None:
    stages.image.save(tmp_path, stages.text)
    assert Image.load(tmp_path).layout == stages.image.layout
