# SPDX-License-Identifier: Apache-2.0
"""eyrie/measure/networks/searched.py: the networks have the multiplications that their authors state."""

import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.operators.weights import Weighted
from eyrie.measure.networks.searched import Searched

# Millions of MACs at 224 x 224: Tan et al., 2019 (B1, as torchvision has it); Howard et al., 2019, table 3; Tan and Le,
# 2019, table 2, for EfficientNet-B0, which Lite0 is without squeeze and excitation.
STATED = {"mnasnet_b1": 315, "efficientnet_lite0": 390, "mobilenet_v3_small": 56, "mobilenet_v3_large": 219}


@pytest.mark.parametrize("kind", STATED)
def test_multiplications_are_those_of_the_paper(kind: str) -> None:
    graph = tflite.from_bytes(Searched(kind, 224).model())
    weighted = [(node.operator, node) for node in graph.nodes if isinstance(node.operator, Weighted)]
    macs = sum(operator.macs(node.inputs, node.outputs) for operator, node in weighted)
    assert macs / 1e6 == pytest.approx(STATED[kind], rel=0.015)
    assert any(operator.window.kernel == (5, 5) for operator, _ in weighted if hasattr(operator, "window"))
