# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on the simulated RTL, with given inputs."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compiler.ir.image import Image
from runtime import progress
from runtime.results import network_summary, parts_summary, write_page, write_part_pages
from runtime.session import Done, MachineRun, Session
from runtime.simulator.simulate import simulate_in
from runtime.simulator.summary import write_summary
from tb.net.bench import LATENCY, PASS_DONE, TRACED_PASSES, network

_PASS_DONE = re.compile(PASS_DONE.replace("%d", r"(\d+)"))


class RunFailed(ValueError):
    """The simulation ended without a result; its folder has the log. The message is one line."""


@dataclass(frozen=True)
class RtlRun:
    """What came out of the RTL.

    image    the network
    named    outputs by name, int8 [N, H, W, C] each
    runs     of as many images each as the network takes at once: the counters, the trace of the passes (the
             counters at the end of each), the seconds from start to interrupt
    """

    image: Image
    named: dict[str, np.ndarray]
    runs: list[dict]

    @property
    def outputs(self) -> np.ndarray:
        """Of a network with one output."""
        [output] = self.named.values()
        return output


def on_rtl(folder: Path, program: Path, inputs: np.ndarray, seed: int = 1, latency: int = LATENCY) -> RtlRun:
    """`named_on_rtl` of a network with one input, int8 [N, H, W, C]."""
    return named_on_rtl(folder, program, Image.load(program).named(inputs), seed, latency)


def named_on_rtl(folder: Path, program: Path, inputs: dict[str, np.ndarray], seed: int = 1,
                 latency: int = LATENCY) -> RtlRun:
    """Runs the network of the folder `program`, on the machine that it was compiled for, on inputs by name, int8 [N, H,
    W, C] each, in an existing `folder` of the caller's own, which gets the log and the summary of the simulation.
    latency: of the DRAM, in cycles.

    Raises RunFailed if the simulation failed, ValueError if it cannot run the network, BuildError, SourceError.
    """
    image = Image.load(program)
    if (count := sum(len(step["passes"]) for step in image.map["steps"])) > TRACED_PASSES:
        raise ValueError(f"the network takes {count} passes, the bench keeps account of {TRACED_PASSES}")
    bench = replace(network("network", "a compiled network on given inputs", "runs_requests"),
                    machine=image.machine, arguments={"latency": latency},
                    assertions=False)  # these are the tests' business
    ends = list(image.map["inputs"]), list(image.map["outputs"])
    np.savez(folder / "input.npz", *(inputs[name] for name in ends[0]))
    requests = {"EYRIE_NET": str(program.resolve()), "EYRIE_INPUT": str(folder / "input.npz"),
                "EYRIE_OUTPUT": str(folder / "output.npz")}
    images = len(inputs[ends[0][0]])
    summary = simulate_in(folder, bench, seed, on_line=_Passes(image, images), variables=requests)
    if summary["status"] != "pass":
        raise RunFailed(f"the simulation failed: {summary.get('reason')}")
    with np.load(folder / "output.npz") as stored:
        named = {name: stored[f"arr_{number}"] for number, name in enumerate(ends[1])}
    return RtlRun(image, named, json.loads((folder / "output.json").read_text()))


def reported(folder: Path, name: str, title: str, program: Path, inputs: list[np.ndarray], seed: int = 1,
             golden: list[np.ndarray] | None = None, latency: int = LATENCY) -> tuple[RtlRun, dict]:
    """named_on_rtl, with the summary of a network run (docs/summary.md) and its page; returns the run and the summary.

    name: of the test; title: of the page; inputs, golden: in the order of the map, int8 [N, H, W, C] each; golden: what
    the golden model gives, None where nothing is compared.
    """
    named = dict(zip(Image.load(program).map["inputs"], inputs, strict=True))
    done = named_on_rtl(folder, program, named, seed, latency)
    summary = network_summary(name, done.image, done.runs, seed, list(done.named.values()), golden)
    write_summary(folder / "summary.json", summary)
    write_page(folder, title, done.image, summary, done.runs[0]["passes"])
    return done, summary


class RtlBackEnd:
    """A BackEnd of sessions; each part leaves its log in a folder of its own inside `folder`."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.folder, self.seed = folder, seed

    def __call__(self, program: Path, inputs: dict[str, np.ndarray]) -> MachineRun:
        own = self.folder / f"rtl-{program.name}"
        own.mkdir()
        done = named_on_rtl(own, program, inputs, self.seed)
        return MachineRun(done.image, done.named, done.runs)


def parts_reported(folder: Path, name: str, title: str, session: Session, inputs: list[np.ndarray], seed: int = 1,
                   golden: list[np.ndarray] | None = None) -> tuple[Done, dict, list[str]]:
    """`reported` of a network in parts: inputs and golden as its session has them. Returns what was done, the summary
    and the names of the folders with the pages, one of each machine part."""
    done = session.run(inputs, RtlBackEnd(folder, seed))
    summary = parts_summary(name, done, seed, golden)
    write_summary(folder / "summary.json", summary)
    return done, summary, write_part_pages(folder, name, title, done, seed)


class _Passes:
    """Shows which pass of which run is done, from the lines of the log."""

    def __init__(self, image: Image, images: int) -> None:
        self.names = {number: step["name"] for step in image.map["steps"] for number in step["passes"]}
        self.runs = -(-images // image.images)

    def __call__(self, line: str, task: progress.Task) -> None:
        if found := _PASS_DONE.search(line):
            run, done = map(int, found.groups())
            detail = self.names.get(done - 1, "")
            if self.runs > 1:
                detail = f"run {run} of {self.runs}, {detail}"
            task.at((run - 1) * len(self.names) + done, self.runs * len(self.names), detail)
