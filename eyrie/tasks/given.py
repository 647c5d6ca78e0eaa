# SPDX-License-Identifier: Apache-2.0
"""The input of a command and the reading of its outputs: `eyrie demo --model`."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Tensor
from eyrie.model.errors import InputError
from eyrie.runtime.pictures import Source
from eyrie.runtime.preprocessing import photo_input
from eyrie.runtime.report.about import MAX_ANSWERS, Answers
from eyrie.session import load
from eyrie.tasks.classification import Classification
from eyrie.tasks.functions import answer_of, labels_of, sound_task
from eyrie.tasks.labels import packed_labels, read_labels
from eyrie.tasks.recognition import task_of
from eyrie.tasks.sound import sound_input
from eyrie.tasks.task import Answer, Question, Task, real

BEST = 5


@dataclass(frozen=True)
class Given:
    """The input of a network, and how to read its outputs, which are in the model's types, for one picture or sound.

    values   the input, [1, ...] in the model's type
    notes    what was done to the picture or the sound, and the task or why it is not known: a line each
    task     None: not known
    picture  None: a sound is given
    """

    graph: Graph
    values: np.ndarray
    notes: tuple[str, ...]
    task: Task | None
    question: Question
    picture: Source | None

    def lines(self, outputs: Sequence[np.ndarray]) -> list[str]:
        """Return the answer in words, or the largest values of all outputs."""
        answer = self._answer(outputs)
        labels = self.question.labels
        return answer.lines() if answer else [largest(*each, labels) for each in zip(self.graph.results, outputs)]

    def drawing(self, outputs: Sequence[np.ndarray]) -> bytes | None:
        """Return the picture with the answer as a PNG, or None for a sound or an unknown task."""
        answer = self._answer(outputs)
        if answer is None or self.picture is None:
            return None
        file = BytesIO()
        answer.draw(self.picture).save(file, "PNG")
        return file.getvalue()

    def shown(self, outputs: Sequence[np.ndarray]) -> tuple[bytes | None, Answers]:
        """Return the drawing and, of a classification, the classes with their scores, for the report."""
        answer = self._answer(outputs)
        classes = answer.categories[:MAX_ANSWERS] if isinstance(answer, Classification) else ()
        return self.drawing(outputs), tuple((each.name, each.score) for each in classes)

    def _answer(self, outputs: Sequence[np.ndarray]) -> Answer | None:
        return answer_of(self.task, self.graph, outputs, self.question) if self.task else None


def given_of(options: Namespace, graph: Graph, classes: Sequence[str] | None = None) -> Given:
    """Return the input that the options of `eyrie demo` name: image or sound, task, labels, front_end.

    classes: labels of the network, if no others are known. Raise InputError, with one line, if something does not fit.
    """
    task, reason = _task(options, graph)
    labels, source = _labels(options, graph, task, classes)
    known = f"{options.model.name}: {f'a network for {task.name}{source}' if task else reason}"
    if options.sound:
        front_end = load(options.front_end, back_end="golden") if options.front_end else None
        values, made = sound_input(options.sound, graph, front_end)
        notes = [f"{options.sound.name}: {note}" for note in made]
        return Given(graph, values, (*notes, known), task, Question(labels), None)
    values, photo = photo_input(options.image, graph, task.fit if task else "square")
    notes = [f"{options.image.name}: {note}" for note in photo.notes]
    question = Question(labels, photo.area, options.threshold)
    return Given(graph, values, (*notes, known), task, question, options.image)


def _task(options: Namespace, graph: Graph) -> tuple[Task | None, str]:
    """Return the task, or None and the reason why it is not known."""
    try:
        return (sound_task if options.sound else task_of)(graph, options.task), ""
    except InputError as error:
        if options.task or options.sound:
            raise
        return None, str(error)


def _labels(
    options: Namespace, graph: Graph, task: Task | None, classes: Sequence[str] | None
) -> tuple[Sequence[str] | None, str]:
    """Return the labels, and words about their source."""
    if options.labels:
        if task:
            return labels_of(task, options.labels), ""
        return read_labels(options.labels, graph.results[0].size), ""
    if task and task.classes and (packed := packed_labels(options.model, task.classes)):
        return packed, ", whose file has labels"
    return (classes if task and classes and len(classes) == task.classes else None), ""


def largest(tensor: Tensor, values: np.ndarray, labels: Sequence[str] | None) -> str:
    """Return a line with the largest values of an output and their indices or labels."""
    found = real(tensor, values).reshape(-1).astype(float)
    if labels is None or len(labels) != found.size:
        labels = [f"#{place}" for place in range(found.size)]
    best = np.argsort(-found, kind="stable")[:BEST]
    return f"{tensor.name}: " + "  ".join(f"{labels[place]} {found[place]:.4g}" for place in best)
