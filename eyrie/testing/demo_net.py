# SPDX-License-Identifier: Apache-2.0
"""The bundled network and photo, as the tests use them."""

from functools import cache

import numpy as np
from PIL import Image as Picture

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.bundled import MODEL, PHOTO


@cache
def demo_network(config: AcceleratorConfig = DEFAULT) -> tuple[Graph, Image]:
    stages = compile_network(MODEL, config)
    return stages.graph, stages.image


def demo_input() -> np.ndarray:
    """Return the input of the bundled photo, int8 [32, 32, 3]: pixel - 128."""
    return (np.asarray(Picture.open(PHOTO).convert("RGB")).astype(np.int16) - 128).astype(np.int8)
