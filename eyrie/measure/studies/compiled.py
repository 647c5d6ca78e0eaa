# SPDX-License-Identifier: Apache-2.0
"""Predicted cycles of layers and networks that take minutes to compile, stored in data/reference/compiled.csv.

`eyrie study --compile A,B` compiles them again and stores the result.
"""

import csv
from dataclasses import asdict, dataclass
from pathlib import Path

from eyrie.compiler.files import whole_file
from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_whole
from eyrie.compiler.performance import performance
from eyrie.compiler.results import Built, Imported, reached
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.networks.classics import CLASSICS, normalized
from eyrie.measure.operator_layers import LAYERS, Layer, measured
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.folders import ROOT

STORED = ROOT / "data" / "reference" / "compiled.csv"
STUDIED = {
    layer.name: layer
    for layer in (
        *LAYERS,
        Layer("pool1", "pooling", 28, 512, 512, 2, 2),  # these of table 4.6, whose fc2 is FC1
        Layer("pool2", "pooling", 56, 256, 256, 2, 2),
        Layer("fc1", "fully_connected", 1, 9216, 4096),
        Layer("fc3", "fully_connected", 1, 4096, 1024),
    )
}
NETWORKS = ("alexnet", "vgg16", "lstm")
ORDER = (*STUDIED, *NETWORKS)


@dataclass(frozen=True)
class Found:
    """Predicted cycles of a layer or a network, and the cycles of its roofline."""

    cycles: int
    roofline_cycles: int

    @property
    def share(self) -> float:
        return self.roofline_cycles / self.cycles


def stored() -> dict[str, Found]:
    """Return the stored results by name."""
    if not STORED.exists():
        return {}
    with STORED.open(newline="") as file:
        return {row["name"]: Found(int(row["cycles"]), int(row["roofline_cycles"])) for row in csv.DictReader(file)}


def tasks(names: list[str]) -> list[Task]:
    """Return the tasks that compile layers and networks. Raise InputError for a name that is unknown."""
    for name in names:
        if name not in ORDER:
            raise InputError(unknown("layer", name, ORDER))
    return [Task(name, compiled, {"name": name}, f"eyrie study --compile {name}") for name in names]


def compiled(folder: Path, name: str) -> Result:
    """Compile a layer or a network."""
    return Result({"name": name} | asdict(of_network(name) if name in NETWORKS else of_layer(name)))


def store(entries: list[dict]) -> None:
    """Store the results of tasks."""
    found = stored() | {entry["name"]: Found(entry["cycles"], entry["roofline_cycles"]) for entry in entries}
    lines = [f"{each},{found[each].cycles},{found[each].roofline_cycles}" for each in ORDER if each in found]
    with whole_file(STORED) as file:
        file.write(("\n".join(["name,cycles,roofline_cycles", *lines]) + "\n").encode())


def of_layer(name: str) -> Found:
    """Compile a layer for the default configuration."""
    summary = measured(STUDIED[name], most_cycles=0).summary
    return Found(summary["predicted_cycles"], summary["roofline_cycles"])


def of_network(name: str) -> Found:
    """Compile a network of eyrie/measure/networks/classics.py for the default configuration."""
    graph = tflite.from_bytes(CLASSICS[name]())
    if name == "alexnet":
        graph = normalized(graph, ("conv1", "conv3"))
    found = performance(reached(compile_whole(Imported(name, graph=graph)), Built))
    return Found(found.cycles, found.roofline_cycles)
