# SPDX-License-Identifier: Apache-2.0
"""The recognition of a network's task by its outputs."""

from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.tasks.blazeface import BlazeFace
from eyrie.tasks.classification import ClassVector
from eyrie.tasks.detection import HeatMap, PostProcess
from eyrie.tasks.pose import MoveNet, PoseNet
from eyrie.tasks.segmentation import ClassMap
from eyrie.tasks.task import Task

# No outputs fit two of them, unless the user names the task: a map from SOFTMAX is small or has the input's size.
KINDS: tuple[type[Task], ...] = (PostProcess, BlazeFace, HeatMap, ClassMap, MoveNet, PoseNet, ClassVector)
NAMES = tuple(dict.fromkeys(kind.name for kind in KINDS))
_ONE_OF = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"


def check_name(name: str | None) -> None:
    """Raise InputError, with one line, if no task has the name."""
    if name not in (None, *NAMES):
        raise InputError(unknown("task", str(name), NAMES))


def task_of(graph: Graph, name: str | None = None) -> Task:
    """Return the task of a network; name: of the task, None to recognise it by the outputs

    Raise InputError, with one line, if the outputs fit no task, or not the named one.
    """
    check_name(name)
    kinds = [kind for kind in KINDS if name in (None, kind.name)]
    for kind in kinds:
        if task := kind.of(graph, certain=name is not None):
            return task
    outputs = ", ".join(f"{output.name} {output.form}" for output in graph.results)
    if name is None:
        raise InputError(f"outputs are {outputs}: no task is recognised; name it (--task) if it is {_ONE_OF}")
    needs = "; or ".join(kind.needs for kind in kinds)
    raise InputError(f"outputs are {outputs}: no {name} that can be read: it needs {needs}")
