"""The stages of the compiler, in order: import, graph passes, schedule (with mapping), assemble, image."""

from dataclasses import dataclass
from pathlib import Path

from compiler import dumps
from compiler import image as image_stage
from compiler.graph import Graph
from compiler.groups import Group, fold_pads, form_groups
from compiler.image import Image
from compiler.importers import tflite
from compiler.schedule import Schedule, schedule
from compiler.search import EFFORT
from model.config import DEFAULT, MachineConfig


@dataclass(frozen=True)
class Stages:
    """What each stage made of a model; `dump` prints one."""

    graph: Graph
    folded: Graph
    groups: list[Group]
    machine: MachineConfig
    schedule: Schedule
    image: Image
    text: str

    def dump(self, stage: str) -> str:
        return {
            "import": lambda: str(self.graph),
            "passes": lambda: str(self.folded),
            "groups": lambda: "\n".join(map(str, self.groups)),
            "fusion": lambda: dumps.fusion(self.groups, self.machine),
            "segments": lambda: dumps.segments(self.schedule, self.machine),
            "map": lambda: dumps.mappings(self.schedule, self.machine),
            "places": lambda: dumps.places(self.schedule, self.machine),
            "schedule": lambda: "\n".join(map(str, self.schedule.steps)),
            "assemble": lambda: self.text,
            "image": lambda: "\n".join(f"0x{address:08x} {size:8d} {name}" for name, (address, size) in
                                       self.schedule.dram.areas.items()),
        }[stage]()


MOST_IMAGES = 16  # of a run
DUMPS = ("import", "passes", "groups", "fusion", "segments", "map", "places", "schedule", "assemble", "image")


def compile_network(model: str | Path, machine: MachineConfig = DEFAULT, objective: str = "cycles",
                    effort: int = EFFORT, images: int = 1) -> Stages:
    """objective: cycles, bytes or energy; effort: how long the search for places goes on; images: of a run.

    Raises ValueError, in one line, for a model the machine does not run or that does not fit.
    """
    graph = tflite.load(model)
    try:
        groups = form_groups(graph)
        _check_groups(groups)
        plan = schedule(groups, machine, objective, effort, images)
    except OverflowError as error:
        raise ValueError(f"{model}: sums do not fit 32 bits ({error}): quantise the model anew") from error
    built, text = image_stage.build(plan, machine)
    return Stages(graph, fold_pads(graph), groups, machine, plan, built, text)


def _check_groups(groups: list[Group]) -> None:
    for group in groups:
        if group.pool_count and (group.filters is None or group.is_convolution):
            raise ValueError(f"group {group.name}: an average needs a pointwise convolution before it")
