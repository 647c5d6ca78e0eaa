# SPDX-License-Identifier: Apache-2.0
"""The PE array: whole passes on its streams, without the accelerator around it."""

from dataclasses import replace

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.simulator.simulation_test import SimulationTest
from eyrie.testing.array_layers import why_not
from eyrie.testing.beats import behind_any_glb

_MODULE = "tb.pe_array.pe_array_tests"


def _array(name: str, about: str, *layers: dict[str, object], **accelerator: int) -> SimulationTest:
    def unfit(accelerator: AcceleratorConfig) -> str | None:
        array = behind_any_glb(accelerator)
        return next(filter(None, (why_not(options, array) for options in layers)), None)

    return SimulationTest(
        name,
        about,
        "pe_array_tb",
        _MODULE,
        "runs_layers",
        arguments={"layers": list(layers)},
        config=AcceleratorConfig(**accelerator),
        unfit=unfit,
    )


def _convolution(width: int, e: int, p: int, q: int, r: int, t: int, **options: object) -> dict[str, object]:
    return {"kind": "convolution", "width": width, "e": e, "p": p, "q": q, "r": r, "t": t, **options}


def _mapping(name: str, width: int, e: int, p: int, q: int, r: int, t: int) -> SimulationTest:
    """A standard mapping on a layer larger than one pass: C = 3qr + 1, M = 2pt + 1, E = 2e + 1."""
    about = f"convolution 3x3, F={width} e={e} p={p} q={q} r={r} t={t}, with ipsum"
    layer = _convolution(width, e, p, q, r, t)
    return _array(name, about, layer, layer)


def _layer(kind: str, **options: object) -> dict[str, object]:
    return {"kind": kind, **options}


_STRIDE_2 = (
    _convolution(7, 4, 4, 4, 1, 2, stride=2),
    _convolution(8, 8, 4, 4, 2, 1, stride=2, pads=(0, 1, 0, 1)),
    _convolution(5, 4, 2, 3, 1, 4, stride=2, pads=(0, 0, 0, 0)),
)
_KERNELS = (
    _convolution(9, 8, 4, 4, 1, 2, kernel=1),
    _convolution(6, 4, 4, 4, 2, 2, kernel=2, pads=(0, 1, 0, 1)),
    _convolution(7, 8, 4, 4, 1, 2, kernel=2, stride=2),
    _convolution(5, 4, 3, 4, 1, 2, kernel=1, stride=2),
)
_RAGGED = (
    _convolution(5, 7, 3, 3, 1, 2, extra=2),
    _convolution(11, 5, 2, 1, 2, 1, extra=1, has=()),
    _convolution(1, 3, 4, 2, 1, 4, extra=2),
    _convolution(7, 16, 3, 2, 1, 1, extra=2),
    _convolution(17, 6, 8, 4, 1, 2, extra=3),
)
_IDLE = (
    _convolution(6, 3, 4, 4, 1, 1, has=()),
    _convolution(6, 5, 4, 4, 2, 1),
    _layer("fused", rows=2, cols=3),
    _layer("pointwise", rows=1, cols=5),
    _convolution(7, 2, 2, 4, 1, 2, kernel=2),
)
_FUSED = (*(_layer("fused", stride=stride) for stride in (1, 2, 1, 2)), _layer("fused", filters=2))
_FEW = tuple(_layer("connected", filters=filters) for filters in (1, 2, 5, 10, 16))
_TILES = (
    _layer("fused", channels=19, filters=70, tile=24, rows=6, cols=9),
    _layer("fused", channels=16, filters=40, tile=16, rows=5, cols=21, inner=2),
    _layer("fused", channels=8, filters=33, tile=8, rows=9, cols=9, stride=2),
    _layer("pointwise", channels=24, filters=50, tile=16, rows=3, cols=17, inner=2),
)
_MIXED = (
    _layer("fused"),
    _convolution(6, 8, 4, 4, 1, 2),
    _layer("connected"),
    _layer("depthwise"),
    _layer("pointwise"),
    _layer("fused", stride=2),
    _convolution(9, 16, 4, 4, 1, 1),
)
_ONE_SET = (
    _convolution(8, 4, 4, 4, 1, 1),
    _convolution(5, 2, 4, 3, 1, 2, stride=2),
    _convolution(6, 4, 3, 4, 1, 1, kernel=2),
    _convolution(9, 3, 4, 2, 1, 1, kernel=1),
    _layer("fused"),
    _layer("fused", stride=2),
    _layer("fused", channels=19, filters=40, tile=16, inner=2),
    _layer("pointwise"),
    _layer("pointwise", channels=24, filters=50, tile=16),
    _layer("connected"),
    _layer("connected"),
)
_BANDS = (
    _layer("depthwise", kernel=(5, 5)),
    _layer("fused", kernel=(5, 5), stride=2),
    _layer("depthwise", kernel=(9, 1), stride=2),
    _layer("fused", kernel=(7, 7)),
    _layer("depthwise", kernel=(1, 6)),
    _layer("fused", kernel=(4, 2)),
)
_SERIAL = (
    _convolution(6, 8, 4, 4, 1, 2),
    _layer("fused", filters=20),
    _layer("depthwise"),
    _layer("pointwise", filters=20),
)

BENCHES = [
    _mapping("array0", 16, 8, 4, 4, 1, 2),
    replace(_mapping("array1", 32, 8, 4, 3, 1, 2), regress=True),
    _mapping("array2", 16, 8, 4, 4, 2, 1),
    _mapping("array3", 16, 4, 4, 4, 2, 2),
    replace(_mapping("array4", 16, 4, 4, 4, 1, 4), regress=True),
    replace(_mapping("array5", 16, 16, 4, 4, 1, 1), regress=True),
    _array("array6", "convolutions 3x3 with stride 2, any padding", *_STRIDE_2),
    _array("array7", "convolutions 1x1 and 2x2", *_KERNELS),
    _array("array8", "convolutions with ragged edges in E, F, C and M", *_RAGGED),
    _array("array9", "fused depthwise-separable passes, strides 1 and 2", *_FUSED),
    _array("array10", "fused and pointwise passes with several filter and pixel blocks", *_TILES),
    _array("array11", "depthwise passes", *(_layer("depthwise", stride=n) for n in (1, 2, 1, 2))),
    _array("array12", "pointwise passes", *(_layer("pointwise") for _ in range(4)), _layer("pointwise", filters=12)),
    _array("array13", "fully connected: a map of one pixel", *(_layer("connected") for _ in range(8)), *_FEW),
    _array("array14", "idle rows and columns", *_IDLE),
    _array("array15", "all modes in turn, passes overlapping", *_MIXED),
    replace(_array("array16", "array of 3 x 4 PEs, one set: all its modes", *_ONE_SET, rows=3, cols=4), regress=True),
    replace(_array("array17", "one multiplier a PE: all modes", *_SERIAL, multipliers=1), regress=True),
    _array("array18", "depthwise kernels of other sizes than 3x3, alone and fused", *_BANDS),
]
