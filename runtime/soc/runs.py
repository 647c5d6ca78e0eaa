# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on the simulated RTL, with given inputs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.soc.driver import TRACED_PASSES, DeviceError, Soc
from eyrie.runtime.trace.events import Events


class RunFailed(InputError):
    """The accelerator stopped without a result. The message is one line."""


def on_rtl(image: Image, inputs: np.ndarray, seed: int = 1) -> AcceleratorRun:
    """Run `named_on_rtl` for a network with one input, int8 [N, H, W, C]."""
    return named_on_rtl(image, image.named(inputs), seed)


def named_on_rtl(
    image: Image,
    inputs: dict[str, np.ndarray],
    seed: int = 1,
    at_end: Callable[[Soc], None] | None = None,
    records: bool = False,
) -> AcceleratorRun:
    """Run a program on a simulated SoC of its accelerator.

    `inputs` are int8 [N, H, W, C] by name. `seed` is the seed of the start values.
    `at_end` is called at the end of each run. records: the result has the events of the first run.
    Several threads may call it at once: each has its own simulated SoC.

    Raise RunFailed if the accelerator stops, InputError if it cannot run the network, BuildError, SourceError.
    """
    steps = {number: step.name for step in image.steps for number in step.passes}
    if len(steps) > TRACED_PASSES:
        raise InputError(f"the network takes {len(steps)} passes, the simulated SoC keeps account of {TRACED_PASSES}")
    given, outputs, results = image.runs(inputs), [], []
    with (
        TemporaryDirectory(prefix="eyrie-") as folder,
        Soc(image.config, image.dram.size, seed, Path(folder, "events") if records else None) as soc,  # builds it first
        progress.task("simulating", "passes") as task,
    ):
        try:
            soc.load(image)
            for number, values in enumerate(given):
                made, result = _run(soc, image, values, _Passes(task, steps, number, len(given)))
                outputs.append(made)
                results.append(result)
                if at_end:
                    at_end(soc)
        except DeviceError as error:
            raise RunFailed(f"the simulation failed: {error}") from error
        events = Events.read(Path(folder, "events")) if records else None
    return AcceleratorRun(image, image.results(outputs, len(next(iter(inputs.values())))), results, events)


def _run(soc: Soc, image: Image, values: dict[str, np.ndarray], passes: "_Passes") -> tuple[dict, dict]:
    """Run the network once; return the outputs by name, and the entry of AcceleratorRun.runs."""
    for index, (name, place) in enumerate(image.inputs.items()):
        for n, one in enumerate(values[name].reshape(image.images, *place.shape)):
            soc.put(index, n, one)
    began = time.perf_counter()
    soc.start()
    while not soc.wait():
        passes.show(soc.counter(Counter.PASSES))
    seconds = time.perf_counter() - began
    passes.show(soc.counter(Counter.PASSES))
    counters = soc.counters()
    outputs = {
        name: np.stack([soc.get(index, n, place.shape) for n in range(image.images)])
        for index, (name, place) in enumerate(image.outputs.items())
    }
    return outputs, {"counters": counters, "passes": soc.passes(counters["PASSES"]), "seconds": seconds}


@dataclass(frozen=True)
class _Passes:
    """Shows which pass of which run is done; names: of the layers, by pass."""

    task: progress.Task
    names: dict[int, str]
    run: int
    runs: int

    def show(self, done: int) -> None:
        detail = self.names.get(done - 1, "")
        if self.runs > 1:
            detail = f"run {self.run + 1} of {self.runs}, {detail}"
        self.task.at(self.run * len(self.names) + done, self.runs * len(self.names), detail)
