# SPDX-License-Identifier: Apache-2.0
"""Parts of a network for machine and host: what is said of those that do not fit."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.parts import compile_parts
from model.config import DEFAULT
from tb.scripts.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights

SMALL = replace(DEFAULT, glb_bank_words=256)


def written(path: Path, seed: int, apart: bool) -> Path:
    """Two convolutions, the second with more filters, with a RESHAPE between them that only the host does, or none."""
    rng, net = np.random.default_rng(seed), TfliteBuilder("parts")
    x = net.input("image", (1, 12, 12, 64), INPUT)
    for name, filters in (("a", 64), ("b", 256)):
        constants = weights(rng, filters, 3, 3, x.shape[3]), scales(rng, filters), bias(rng, filters)
        x = net.conv(name, x, *constants, Quant(0.05, -128), padding=VALID)
        if apart and name == "a":
            x = net.reshape("p", x, (1, 10, 40, 16))
    path.write_bytes(net.build([x]))
    return path


@pytest.mark.parametrize("apart", [False, True])
def test_the_part_that_needs_most_is_named(apart: bool, seed: int, tmp_path: Path) -> None:
    """With what it needs, all of the network fits; each part is planned once."""
    path, stages = written(tmp_path / "net.tflite", seed, apart), []
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: operator") as caught:
        compile_parts(path, SMALL, effort=8, on_stage=stages.append)
    failure = caught.value.__cause__
    assert isinstance(failure, DoesNotFit) and stages.count("segments") == 1 + apart
    where = "operator #2: group conv0" if apart else "operators #0 to #1: group conv1"
    assert str(failure) == (f"{where} needs at least {failure.demand} bytes of GLB, there are {SMALL.glb_bytes}: use a "
                            "larger GLB or a smaller layer")
    with pytest.raises(ValueError, match="bytes of GLB"):
        compile_parts(path, replace(DEFAULT, glb_bank_words=failure.demand // 64 - 1), effort=8)
    compile_parts(path, replace(DEFAULT, glb_bank_words=-(-failure.demand // 64)), effort=200)
