# SPDX-License-Identifier: Apache-2.0
"""The usual tasks of networks: from a picture or a sound to an answer in words and in a drawing (docs/howto/tasks.md).

import eyrie, eyrie.tasks
session = eyrie.load("detector.tflite")
found = eyrie.tasks.detect(session, "photo.jpg")
print(found)
found.draw("photo.jpg").save("answer.png")
"""

from eyrie.tasks.classification import Classification
from eyrie.tasks.detection import Box, Detection
from eyrie.tasks.functions import answer, classify, classify_sound, detect, find_poses, segment
from eyrie.tasks.pose import Keypoint, Person, Poses
from eyrie.tasks.segmentation import Segmentation
from eyrie.tasks.task import Answer, Category

__all__ = [
    "Answer",
    "Box",
    "Category",
    "Classification",
    "Detection",
    "Keypoint",
    "Person",
    "Poses",
    "Segmentation",
    "answer",
    "classify",
    "classify_sound",
    "detect",
    "find_poses",
    "segment",
]
