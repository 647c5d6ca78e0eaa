# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on the simulated RTL, with given inputs."""

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.cost.timing.front import DRAM_LATENCY
from eyrie.compiler.ir.image import Image
from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.runtime.metrics import prediction_of
from eyrie.runtime.report.about import About
from eyrie.runtime.results import network_summary, parts_summary, write_page, write_part_pages
from eyrie.runtime.session import AcceleratorRun, Done, Session
from eyrie.runtime.simulator.summary import write_summary
from eyrie.runtime.soc.driver import TRACED_PASSES, DeviceError, Soc


class RunFailed(InputError):
    """The accelerator stopped without a result. The message is one line."""


@dataclass(frozen=True)
class RtlRun:
    """The result of a run on the RTL.

    image    the network
    named    outputs by name, int8 [N, H, W, C] each
    runs     of as many images each as the network takes at once: the counters, the trace of the passes (the counters
             at the end of each), the seconds from start to interrupt
    """

    image: Image
    named: dict[str, np.ndarray]
    runs: list[dict]

    @property
    def outputs(self) -> np.ndarray:
        """Return the output of a network with one output."""
        [output] = self.named.values()
        return output

    @cached_property
    def prediction(self) -> Prediction | None:
        """The prediction of the cost model for a run."""
        return prediction_of(self.image)


def on_rtl(program: Path, inputs: np.ndarray, seed: int = 1, latency: int = DRAM_LATENCY) -> RtlRun:
    """Run `named_on_rtl` for a network with one input, int8 [N, H, W, C]."""
    return named_on_rtl(program, Image.load(program).named(inputs), seed, latency)


def named_on_rtl(program: Path, inputs: dict[str, np.ndarray], seed: int = 1, latency: int = DRAM_LATENCY) -> RtlRun:
    """Run the network of the folder `program` on a simulated SoC of its accelerator.

    `inputs` are int8 [N, H, W, C] by name. `seed` is the seed of the start values, `latency` the cycles of the DRAM.
    Several threads may call it at once: each has its own simulated SoC.

    Raise RunFailed if the accelerator stops, InputError if it cannot run the network, BuildError, SourceError.
    """
    image = Image.load(program)
    steps = {number: step.name for step in image.steps for number in step.passes}
    if len(steps) > TRACED_PASSES:
        raise InputError(f"the network takes {len(steps)} passes, the simulated SoC keeps account of {TRACED_PASSES}")
    given, outputs, results = image.runs(inputs), [], []
    with (
        Soc(image.config, image.dram.size, seed, latency) as soc,  # it builds the simulator first
        progress.task("simulating", "passes") as task,
    ):
        try:
            soc.load(image)
            for number, values in enumerate(given):
                made, result = _run(soc, image, values, _Passes(task, steps, number, len(given)))
                outputs.append(made)
                results.append(result)
        except DeviceError as error:
            raise RunFailed(f"the simulation failed: {error}") from error
    return RtlRun(image, image.results(outputs, len(next(iter(inputs.values())))), results)


def _run(soc: Soc, image: Image, values: dict[str, np.ndarray], passes: "_Passes") -> tuple[dict, dict]:
    """Run the network once; return the outputs by name, and the entry of RtlRun.runs."""
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


def reported(
    folder: Path,
    name: str,
    about: About,
    program: Path,
    inputs: list[np.ndarray],
    seed: int = 1,
    golden: list[np.ndarray] | None = None,
    latency: int = DRAM_LATENCY,
) -> tuple[RtlRun, dict]:
    """Run a program as named_on_rtl does, write summary.json and the report, and return the run and the summary.

    name: of the test; about: the head of the report; inputs, golden: in the order of the image's map, int8
    [N, H, W, C] each; golden: outputs of the golden model, None for no comparison.
    """
    named = dict(zip(Image.load(program).inputs, inputs, strict=True))
    done = named_on_rtl(program, named, seed, latency)
    summary = network_summary(name, done.image, done.runs, seed, list(done.named.values()), golden, done.prediction)
    write_summary(folder / "summary.json", summary)
    first = next(iter(done.named.values()))[0]
    write_page(folder, about.answered(first), done.image, summary, done.runs[0]["passes"], done.prediction)
    return done, summary


@dataclass(frozen=True)
class RtlBackEnd:
    """A BackEnd for sessions. Any number of threads may use it."""

    seed: int = 1
    latency: int = DRAM_LATENCY

    def __call__(self, program: Path, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
        done = named_on_rtl(program, inputs, self.seed, self.latency)
        return AcceleratorRun(done.image, done.named, done.runs)


def parts_reported(
    folder: Path,
    name: str,
    about: About,
    session: Session,
    inputs: list[np.ndarray],
    seed: int = 1,
    golden: list[np.ndarray] | None = None,
) -> tuple[Done, dict, list[str]]:
    """Do the same as `reported` for a network with CPU fallback; inputs and golden are as in its session.

    Return the run, the summary, and the names of the folders with the pages, one for each subgraph of the accelerator.
    """
    done = session.run(inputs, RtlBackEnd(seed))
    summary = parts_summary(name, done, seed, golden)
    write_summary(folder / "summary.json", summary)
    return done, summary, write_part_pages(folder, name, about.answered(done.outputs[0][0]), done, seed)


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
