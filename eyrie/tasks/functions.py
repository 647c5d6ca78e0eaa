# SPDX-License-Identifier: Apache-2.0
"""The functions of eyrie.tasks: a session and a picture or a sound give an answer."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError
from eyrie.runtime.pictures import Source
from eyrie.runtime.preprocessing import photo_input
from eyrie.session import Session
from eyrie.tasks.classification import Classification, ClassVector
from eyrie.tasks.detection import Detection
from eyrie.tasks.labels import read_labels
from eyrie.tasks.pose import Poses
from eyrie.tasks.recognition import task_of
from eyrie.tasks.segmentation import Segmentation
from eyrie.tasks.sound import sound_input
from eyrie.tasks.task import Answer, Question, Task, real

Labels = Sequence[str] | str | PathLike | None


def answer(
    session: Session,
    picture: Source,
    task: str | None = None,
    labels: Labels = None,
    threshold: float | None = None,
) -> Answer:
    """Run a network on a picture, and return its answer.

    picture    a file or an image of Pillow
    task       classification, detection, segmentation or pose; None: recognised by the outputs
    labels     names of the classes: a list, or a text file with one a line; None: the classes have numbers
    threshold  score from which boxes and keypoints count; None: 0.5 for boxes, 0.3 for keypoints

    Raise InputError, with one line, if the outputs fit no task or not this one, or an argument is invalid.
    """
    found = task_of(session.graph, task)
    names = labels_of(found, labels)
    if not isinstance(picture, (str, PathLike, Image.Image)):
        raise InputError(f"the picture is {type(picture).__name__}: give a file or an image of Pillow")
    if threshold is not None and not (isinstance(threshold, (int, float)) and 0 <= threshold <= 1):
        raise InputError(f"threshold {threshold!r}: must be a number from 0 to 1")
    values, photo = photo_input(picture, session.graph, found.fit)
    return answer_of(found, session.graph, session.run([values]), Question(names, photo.area, threshold))


def classify(session: Session, picture: Source, labels: Labels = None) -> Classification:
    """Return the classes of a picture; arguments and errors are as in `answer`. Outputs that SOFTMAX or LOGISTIC does
    not compute are taken as logits."""
    found = answer(session, picture, "classification", labels)
    assert isinstance(found, Classification)
    return found


def detect(session: Session, picture: Source, labels: Labels = None, threshold: float | None = None) -> Detection:
    """Return the objects in a picture; arguments and errors are as in `answer`."""
    found = answer(session, picture, "detection", labels, threshold)
    assert isinstance(found, Detection)
    return found


def segment(session: Session, picture: Source, labels: Labels = None) -> Segmentation:
    """Return the classes of the pixels of a picture; arguments and errors are as in `answer`."""
    found = answer(session, picture, "segmentation", labels)
    assert isinstance(found, Segmentation)
    return found


def find_poses(session: Session, picture: Source, threshold: float | None = None) -> Poses:
    """Return the poses of people in a picture; arguments and errors are as in `answer`."""
    found = answer(session, picture, "pose", None, threshold)
    assert isinstance(found, Poses)
    return found


def classify_sound(
    session: Session, sound: str | PathLike, labels: Labels = None, front_end: Session | None = None
) -> Classification:
    """Return the classes of a sound, such as keywords.

    sound      a .wav file: mono, 16 bits, 16 kHz. The network hears its beginning; silence follows a short one
    labels     as in `answer`
    front_end  session of the model that computes the features of a window of int16 samples, one window each 20 ms;
               None: the network takes the samples

    Raise InputError, with one line, if the sound, the front end or the network does not fit.
    """
    found = sound_task(session.graph)
    values, _ = sound_input(sound, session.graph, front_end)
    made = answer_of(found, session.graph, session.run([values]), Question(labels_of(found, labels)))
    assert isinstance(made, Classification)
    return made


def sound_task(graph: Graph, name: str | None = None) -> Task:
    """Return the task of a network that takes a sound; name: as in `task_of`. Raise InputError, with one line, if it is
    no classification."""
    task = task_of(graph, name)
    if not isinstance(task, ClassVector):
        raise InputError(f"the network is for {task.name}: give a picture")
    return task


def labels_of(task: Task, labels: Labels) -> Sequence[str] | None:
    """Return the labels of a task's classes. Raise InputError, with one line, if they are not as many."""
    if labels is None:
        return None
    if not task.classes:
        raise InputError(f"labels are given, the task {task.name} has no classes: leave them out")
    if isinstance(labels, str | PathLike):
        return read_labels(Path(labels), task.classes)
    if len(labels) != task.classes:
        raise InputError(f"{len(labels)} labels are given, the network has {task.classes} classes")
    return labels


def answer_of(task: Task, graph: Graph, outputs: Sequence[np.ndarray], question: Question) -> Answer:
    """Return the answer of a network; outputs: in the model's types, for one picture or sound"""
    return task.answer([real(tensor, values) for tensor, values in zip(graph.results, outputs)], question)
