# SPDX-License-Identifier: Apache-2.0
"""Parts of a network for machine and host: what is said of those that do not fit."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.parts import compile_parts
from compiler.passes.partition import Side
from model.config import DEFAULT
from runtime.session import Session
from tb.common.tflite_builder import STEPS, Builder

SMALL = replace(DEFAULT, glb_bank_words=256)


def written(path: Path, seed: int, apart: bool) -> Path:
    """Two convolutions, the second with more filters; `apart`: with something between them that the host does."""
    rng, net = np.random.default_rng(seed), Builder()
    first, second = (rng.integers(-127, 128, (count, 3, 3, 64), np.int8) for count in (64, 256))
    side = 8 if apart else 12
    x, made, between, last = (net.tensor(shape, scale=0.1) for shape in (
        (1, 12, 12, 64), (1, 12, 12, 64), (1, 8, 8, 64), (1, side, side, 256)))

    def convolution(source: int, filters: np.ndarray, output: int) -> None:
        net.operator("CONV_2D", [source, net.tensor(filters.shape, scale=0.01, data=filters)], [output], **STEPS)

    convolution(x, first, made)
    if apart:
        net.operator("RESIZE_BILINEAR", [made, net.tensor((2,), "int32", data=np.int32([8, 8]))], [between])
    convolution(between if apart else made, second, last)
    path.write_bytes(net.pack([x], [last]))
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


def test_a_map_that_is_too_large_is_the_hosts(seed: int, tmp_path: Path) -> None:
    """An average is over a map of 32 KiB as a whole; the convolution before it goes through it in stripes."""
    rng, net, path = np.random.default_rng(seed), Builder(), tmp_path / "net.tflite"
    x, made = (net.tensor((1, 32, 32, 32), scale=0.1) for _ in range(2))
    mean, last = (net.tensor((1, 1, 1, 32), scale=0.1) for _ in range(2))
    for source, output in ((x, made), (mean, last)):
        filters = net.tensor((32, 1, 1, 32), scale=0.01, data=rng.integers(-127, 128, (32, 1, 1, 32), np.int8))
        net.operator("CONV_2D", [source, filters], [output], **STEPS)
        if output == made:
            net.operator("AVERAGE_POOL_2D", [made], [mean], padding=1, filterHeight=32, filterWidth=32, strideH=1,
                         strideW=1)
    path.write_bytes(net.pack([x], [last]))
    compiled = compile_parts(path, SMALL, effort=8)
    assert [each.part.side for each in compiled.parts] == [Side.MACHINE, Side.HOST, Side.MACHINE]
    assert [node.operator.name for node in compiled.partition.host_nodes] == ["AVERAGE_POOL_2D"]
    compiled.save(tmp_path / "net")
    session = Session.load(tmp_path / "net")
    values = [rng.integers(-128, 128, (2, 1, 32, 32, 32), np.int8)]
    np.testing.assert_array_equal(session.run(values).outputs[0], session.golden(values)[0])
    assert not compile_parts(path, effort=8).partition.host_nodes
