# SPDX-License-Identifier: Apache-2.0
"""Random layers of passes on accelerators with the smallest queues."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.model.config import DEFAULT
from eyrie.model.legality import broken_rule
from eyrie.testing import pass_layers
from eyrie.testing.samples import scaled

DRAWN = 4 + scaled(40)


@pytest.mark.parametrize("ifmap_words", [4, 5])
@pytest.mark.parametrize("kind", ["fused", "depthwise"])
def test_blocks_of_a_pixel(kind: str, ifmap_words: int, seed: int) -> None:
    """A PE holds the words of a single pixel of a wide kernel; blocks side by side begin at odd columns, too."""
    config = replace(DEFAULT, ifmap_words=ifmap_words, pixel_words=2, filter_lanes=2)
    rng = np.random.default_rng([seed, ifmap_words])
    for _ in range(DRAWN):
        layer, about = pass_layers.draw(rng, kind, config)
        for case, _, _ in layer.parts:
            assert broken_rule(config, case.descriptor) is None, about
