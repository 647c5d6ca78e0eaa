# SPDX-License-Identifier: Apache-2.0
"""Made-up runs for the report's tests: images without a memory, and counters that grow with each pass."""

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import Area, DramMap, ImageBuffer, ImageStep
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import Counter
from eyrie.runtime.metrics import metrics as network_metrics

NO_BYTES = ("DRAM_READ_BYTES", "DRAM_WRITE_BYTES", "DMA_BUSY")


def made_up(
    rng: np.random.Generator, names: list[str], config: AcceleratorConfig, images: int = 1, dry: tuple[int, ...] = ()
) -> tuple[Image, dict, list[dict]]:
    """An image of layers with these names and one to four passes each, its figures and its passes.

    dry: layers without DRAM traffic. There is no program, so the accelerator must be one without a cost model.
    """
    steps, passes, buffers = [], [], []
    now = {counter.name: 0 for counter in Counter}
    pes = config.rows * config.cols
    for n, name in enumerate(names):
        numbers = tuple(range(len(passes), len(passes) + int(rng.integers(1, 5))))
        issued = 0
        for _ in numbers:
            gone = _pass(rng, pes, config.multipliers)
            if n in dry:
                gone |= dict.fromkeys(NO_BYTES, 0)
            issued += gone["MACS"]
            now = {counter: value + gone[counter] for counter, value in now.items()}
            passes.append(now | {"signature": 1, "pe_cycles": gone["CYCLES"] * pes})
        steps.append(
            ImageStep(name, "conv", "whole", "", numbers, issued, 64 * (n + 1), 8, ifmap=(1, 1, 8), ofmap=(1, 1, 8))
        )
        size = int(rng.integers(1, 6)) * 1024
        buffers.append(
            ImageBuffer(
                f"{name} {rng.choice(['output', 'filters', 'quantisation parameters'])}",
                int(rng.integers(0, config.glb_bytes - size)) // 8 * 8,
                size,
                first=2 * numbers[0],
                last=2 * numbers[-1] + 1,
            )
        )
    ends = {"map": DramMap(0, (1, 1, 8), FeatureMap(1, 1, 1, 0, 1), None, 1.0, 0, None)}
    image = Image(images, Area(0, 512), ends, ends, {}, config, tuple(steps), tuple(buffers), np.zeros(0, np.uint8))
    total = now | {"CYCLES": now["CYCLES"] + 30}
    return image, network_metrics(image, total, passes), passes


def _pass(rng: np.random.Generator, pes: int, multipliers: int) -> dict[str, int]:
    """What the counters go on by in a pass: each PE's cycles are those of the pass."""
    cycles = int(10 ** rng.uniform(2, 5))
    busy, *waits = (rng.dirichlet(np.ones(6)) * cycles * pes).astype(int)
    gone = {counter.name: int(rng.integers(0, cycles)) for counter in Counter}
    waiting = ("PE_WAIT_IFMAP", "PE_WAIT_WORDS", "PE_WAIT_FILTER", "PE_WAIT_PSUM", "PE_IDLE")
    return gone | {
        "CYCLES": cycles,
        "MACS": int(busy) * multipliers,
        "ZERO_SKIPPED": int(busy) // 2,
        **{name: int(value) for name, value in zip(waiting, waits)},
    }
