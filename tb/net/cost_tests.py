# SPDX-License-Identifier: Apache-2.0
"""The cost model against the RTL: random layers on random DRAMs, drawn anew with each seed, and the
bundled network."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import cocotb
import numpy as np

from eyrie.compiler.cost.predict import Prediction, predict
from eyrie.compiler.cost.traffic import COUNTERS
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.metrics import metrics as network_metrics
from eyrie.testing.demo_net import demo_input, demo_network
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES
from tb.net.host import Host, Result
from tb.net.random_layers import draws

SHARE, CYCLES = 0.03, 64  # a prediction is within the larger of this share and so many cycles
DRAMS = (*({"dram_latency": cycles} for cycles in (10, 30, 100, 300)), {"dram_interval": 2}, {"dram_interval": 4})
REJECTED = 0.15  # of the layers drawn, beside three: the compiler rejects no more


class Judge:
    """Compares predictions with runs; notes the errors as shares of what is allowed, and the lines of those beyond."""

    def __init__(self, dut, scoreboard: Scoreboard) -> None:
        self._dut, self._scoreboard = dut, scoreboard
        self.errors: list[float] = []
        self.missed: list[str] = []
        self.drawn, self.rejected = 0, 0

    def bytes(self, about: str, prediction: Prediction, result: Result) -> None:
        """MACs and bytes of every kind: exact."""
        self._scoreboard.compare(0, int(result.error), f"{about}: error code")
        for name in (*COUNTERS, "MACS"):
            self._scoreboard.compare(result.counters[name], prediction.counters[name], f"{about}: {name}")

    def cycles(self, about: str, predicted: int, measured: int) -> None:
        allowed = max(SHARE * measured, CYCLES)
        share = abs(predicted - measured) / allowed
        line = f"{about}: {predicted} cycles predicted, {measured} measured"
        self._dut._log.info("%s, %+.2f %%", line, 100 * (predicted / measured - 1))
        if share > 1:
            self.missed.append(f"{line}, {allowed:.0f} allowed")
        self._scoreboard.compare(True, share <= 1, f"{line}, {allowed:.0f} allowed")
        self.errors.append(share)

    def rejections(self) -> None:
        """Most layers are measured: a compiler that rejects them would leave nothing to be wrong about."""
        allowed = 3 + REJECTED * self.drawn
        self._scoreboard.compare(True, self.rejected <= allowed, f"{self.rejected} of {self.drawn} layers rejected")

    def summary(self) -> dict[str, object]:
        return {
            "layers": len(self.errors),
            "within": sum(share <= 1 for share in self.errors),
            "worst_share_of_bound": round(max(self.errors), 3),
            "missed": self.missed,
            "drawn": self.drawn,
            "rejected": self.rejected,
        }


@cocotb.test()
async def predicts_layers(dut) -> None:
    """As many random layers as the argument `layers` says; then the bundled network."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("cost")
    judge = Judge(dut, scoreboard)
    host = Host(tb, DRAM_BYTES)
    await host.begin()
    count = scaled(tb.arguments["layers"])
    with TemporaryDirectory() as folder:
        for draw in draws(cocotb.RANDOM_SEED, Path(folder) / "layer.tflite", tb.config, DRAMS):
            if judge.drawn - judge.rejected == count:
                break
            number, judge.drawn = judge.drawn, judge.drawn + 1
            if draw.image is None:
                judge.rejected += 1
                dut._log.info("layer %d, %s rejected: %s", number, draw.layer, draw.reason)
                continue
            dram = f"{draw.image.config.dram_latency} and {draw.image.config.dram_interval}"
            about = f"layer {number}, {draw.layer}, DRAM latency and interval {dram}"
            await _layer(host, judge, about, draw.image, tb.rng)
    judge.rejections()
    await _network(host, judge, scoreboard, tb.config)
    await tb.finish(scoreboard, **judge.summary())


async def _layer(host: Host, judge: Judge, about: str, image: Image, rng: np.random.Generator) -> None:
    values = rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
    prediction, result = await _run(host, image, values)
    judge.bytes(about, prediction, result)
    judge.cycles(about, prediction.cycles, result.counters["CYCLES"])


async def _network(host: Host, judge: Judge, scoreboard: Scoreboard, config: AcceleratorConfig) -> None:
    _, image = demo_network(config)
    prediction, result = await _run(host, image, demo_input())
    judge.bytes("network", prediction, result)
    judge.cycles("network", prediction.cycles, result.counters["CYCLES"])
    metrics = network_metrics(image, result.counters, result.passes)
    for layers in _together(image.steps):
        predicted, measured = (
            sum(of[n] for n in layers)
            for of in ([cost.cycles for cost in prediction.layers], [row["cycles"] for row in metrics["layers"]])
        )
        judge.cycles(" ".join(prediction.layers[n].name for n in layers), predicted, measured)
    energy = prediction.energy_uj(image.config.clock_hz, result.counters["ZERO_SKIPPED"])
    host.tb.dut._log.info("network: %.2f uJ predicted, %.2f measured", energy, metrics["energy_uJ"])
    close = abs(energy / metrics["energy_uJ"] - 1) < SHARE
    scoreboard.compare(True, close, f"network: {energy:.2f} uJ predicted")


def _together(steps: Sequence[ImageStep]) -> list[list[int]]:
    """Layers by number, those together whose passes come in turn: PEs that are done with a pass before others are go on
    to the next, so that how two such layers share the cycles depends on each PE."""
    found: list[list[int]] = []
    for n, step in enumerate(steps):
        if found and min(step.passes) < max(max(steps[k].passes) for k in found[-1]):
            found[-1].append(n)
        else:
            found.append([n])
    return found


async def _run(host: Host, image: Image, values: np.ndarray) -> tuple[Prediction, Result]:
    host.set_dram(image.config)
    return predict(image), await host.run(image.with_input(values), image.program.address, CYCLE_LIMIT)
