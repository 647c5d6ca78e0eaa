# SPDX-License-Identifier: Apache-2.0
"""The facts of a run that the report shows at its head: model, command, date, input picture, answers, graph."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from io import BytesIO
from pathlib import Path

import numpy as np

MAX_ANSWERS = 10
Answers = tuple[tuple[str, float], ...]


def command_line() -> str:
    """Return the command line of this process as the user types it."""
    name = Path(sys.argv[0]).name
    return shlex.join(["eyrie" if name == "__main__.py" else name, *sys.argv[1:]])


def now() -> str:
    """Return the date and the time of day, to the minute."""
    return datetime.now().astimezone().isoformat(" ", "minutes")


@dataclass(frozen=True)
class About:
    """The head of a report.

    title    title of the page
    model    name of the model or of the folder with the compiled network
    picture  PNG of the input, or of the answer that is drawn into it
    answers  class names with their probabilities, the largest first
    read     gives picture and answers from the outputs of the first image
    graph    SVG of the network's graph, if it is known
    command  command line of the run; date: its date
    """

    title: str
    model: str
    picture: bytes | None = None
    answers: Answers = ()
    read: Callable[[Sequence[np.ndarray]], tuple[bytes | None, Answers]] | None = None
    graph: str | None = None
    command: str = field(default_factory=command_line)
    date: str = field(default_factory=now)

    def answered(self, outputs: Sequence[np.ndarray]) -> "About":
        """Return the head with picture and answers, as `read` gives them."""
        if self.read is None:
            return self
        picture, answers = self.read(outputs)
        return replace(self, picture=picture, answers=answers)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of real-valued logits, float64 of the same shape."""
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def ranked(probabilities: np.ndarray, classes: Sequence[str]) -> Answers:
    """Return at most MAX_ANSWERS classes with their probabilities, the largest first; both arguments [classes]."""
    order = np.argsort(-probabilities, kind="stable")[:MAX_ANSWERS]
    return tuple((classes[n], float(probabilities[n])) for n in order)


def png_of(pixels: np.ndarray) -> bytes:
    """Return uint8 pixels [H, W, 3] or [H, W] as a PNG."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
