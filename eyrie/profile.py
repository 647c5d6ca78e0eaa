# SPDX-License-Identifier: Apache-2.0
"""The cycles of a network by layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.model.errors import InputError
from eyrie.runtime.back_end import AcceleratorRun


@dataclass(frozen=True)
class LayerProfile:
    """A layer. part: number of the accelerator's subgraph; mac_cycles: MACs / multipliers; measured_cycles: None
    without a run.
    """

    part: int
    name: str
    macs: int
    mac_cycles: int
    predicted_cycles: int
    measured_cycles: int | None


@dataclass(frozen=True)
class Profile:
    """The layers of the accelerator, for one image; `host` lists the operators of the host, which are not counted.

    predicted_cycles, measured_cycles: of the network, with cycles that belong to no layer
    """

    layers: tuple[LayerProfile, ...]
    host: tuple[str, ...]
    predicted_cycles: int
    measured_cycles: int | None

    def __str__(self) -> str:
        whole = LayerProfile(
            0,
            "network",
            sum(layer.macs for layer in self.layers),
            sum(layer.mac_cycles for layer in self.layers),
            self.predicted_cycles,
            self.measured_cycles,
        )
        width = max(len(layer.name) for layer in (*self.layers, whole))
        lines = [f"{'layer':{width}} {'MACs':>13} {'MAC bound':>10} {'predicted':>10} {'measured':>10}"]
        for layer in (*self.layers, whole):
            measured = "" if layer.measured_cycles is None else f"{layer.measured_cycles:,}"
            lines.append(
                f"{layer.name:{width}} {layer.macs:13,} {layer.mac_cycles:10,} "
                f"{layer.predicted_cycles:10,} {measured:>10}".rstrip()
            )
        return "\n".join(lines)


def profile_of(network: CompiledNetwork, measured: Sequence[AcceleratorRun]) -> Profile:
    """Return the profile; `measured` has the run of each program of the accelerator, or is empty.

    Raise InputError, with one line, if a program has no prediction.
    """
    layers, total = list[LayerProfile](), 0
    for number, program in enumerate(network.programs):
        if program.performance is None:
            raise InputError("a program that was written by hand has no prediction by layer: run it on the RTL")
        predicted, total = program.performance.layers, total + program.performance.cycles
        found = _measured(measured[number]) if measured else [None] * len(predicted)
        layers += [
            LayerProfile(number, row.name, row.macs, row.mac_cycles, row.predicted_cycles, cycles)
            for row, cycles in zip(predicted, found, strict=True)
        ]
    spent = sum(run.runs[0]["counters"]["CYCLES"] for run in measured) if measured else None
    return Profile(tuple(layers), network.host, total, spent)


def _measured(run: AcceleratorRun) -> list[int | None]:
    from eyrie.runtime.metrics import metrics

    counted = run.runs[0]
    return [row["cycles"] for row in metrics(run.image, counted["counters"], counted["passes"])["layers"]]
