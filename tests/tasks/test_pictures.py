# SPDX-License-Identifier: Apache-2.0
"""Answers to pictures: exact boxes, masks and keypoints of networks whose answers can be told from the picture."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

import eyrie
from eyrie import tasks
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.poses import DecodePoses
from eyrie.model.errors import InputError
from eyrie.model.operators.poses import Decoding
from eyrie.runtime.pictures import Area, read_photo
from eyrie.session import Session
from eyrie.tasks.blazeface import BlazeFace
from eyrie.tasks.drawing import colour_of
from eyrie.tasks.labels import packed_labels
from eyrie.tasks.pose import PoseNet
from eyrie.tasks.recognition import task_of
from eyrie.tasks.task import Question
from eyrie.testing.tflite_builder import Builder
from tests.tasks import models


def opened(folder: Path, model: bytes) -> Session:
    (folder / "net.tflite").write_bytes(model)
    return eyrie.load(folder / "net.tflite", back_end="golden")


def grey(rows: object) -> Picture.Image:
    return Picture.fromarray(np.array(rows, np.uint8))


# ---- Detection ----


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3, 2, 1, 0)])
def test_boxes(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Black pixels are the anchors. A white one moves the first box down by a tenth of its height."""
    rows = np.zeros((4, 4), np.uint8)
    rows[0, 0] = 255
    found = tasks.detect(opened(tmp_path, models.detector(order)), grey(rows), labels=["one", "two"])
    edges = [(box.left, box.top, box.right, box.bottom) for box in found.boxes]
    wanted = [(0.3, 0.42, 0.7, 0.62), (0.65, 0.15, 0.85, 0.35), (0.2, 0.2, 0.3, 0.8)]
    np.testing.assert_allclose(edges, 4 * np.array(wanted), atol=1e-5)
    assert [str(box.category) for box in found.boxes] == ["one 0.90", "two 0.80", "one 0.60"]
    assert [box.category.index for box in found.boxes] == [0, 1, 0]


def test_boxes_of_a_wide_picture_are_stretched(tmp_path: Path) -> None:
    found = tasks.detect(opened(tmp_path, models.detector()), grey(np.zeros((100, 200))), threshold=0.85)
    [box] = found.boxes
    np.testing.assert_allclose((box.left, box.top, box.right, box.bottom), (60, 40, 140, 60), atol=1e-3)
    assert found.lines() == ["#0 0.90 from (60, 40) to (140, 60)"]
    drawn = np.asarray(found.draw(grey(np.zeros((100, 200)))))
    assert drawn.shape == (400, 800, 3)
    assert (drawn[200, 240] == colour_of(0)).all() and not drawn[200, 400].any() and not drawn[100, 100].any()
    with pytest.raises(InputError, match="the picture has 100 x 200 pixels, the answer is for 200 x 100"):
        found.draw(grey(np.zeros((200, 100))))


def test_no_boxes(tmp_path: Path) -> None:
    found = tasks.detect(opened(tmp_path, models.detector()), grey(np.zeros((4, 4))), threshold=0.95)
    assert found.boxes == () and str(found) == "no object with a score of 0.95 or more"


def test_heat_map(tmp_path: Path) -> None:
    """White cells that touch are one object, in the middle square of the picture."""
    cells = np.zeros((5, 5), np.uint8)
    cells[0, 0] = cells[3, 2] = cells[2, 3] = cells[4, 3] = 255
    middle = np.kron(cells, np.ones((8, 8), np.uint8))
    picture = np.pad(middle, ((0, 0), (10, 10)))
    found = tasks.answer(opened(tmp_path, models.heat_map(40)), grey(picture))
    assert isinstance(found, tasks.Detection)
    edges = sorted((box.left, box.top, box.right, box.bottom) for box in found.boxes)
    assert edges == [(10.0, 0.0, 18.0, 8.0), (26.0, 16.0, 42.0, 40.0)]
    assert all(box.category.index == 1 and box.category.score > 0.99 for box in found.boxes)


def test_blazeface() -> None:
    """A face at the anchor of row 2 and column 5 of the coarse grid, and a worse copy of it at the next anchor."""
    shapes = ((1, 512, 16), (1, 512, 1), (1, 384, 1), (1, 384, 16))
    outputs = [np.zeros(shape) for shape in shapes]
    graph = Graph(
        (Tensor(name="x", shape=(1, 128, 128, 3), dtype="float32"),),
        (),
        tuple(Tensor(name=str(n), shape=shape, dtype="float32") for n, shape in enumerate(shapes)),
    )
    task = task_of(graph)
    assert isinstance(task, BlazeFace)
    joined = (Tensor(name=name, shape=(1, 896, size), dtype="float32") for name, size in (("boxes", 16), ("scores", 1)))
    assert isinstance(task_of(Graph(graph.inputs, (), tuple(joined))), BlazeFace)
    outputs[1][:], outputs[2][:] = -9, -9
    for anchor, logit in (((2 * 8 + 5) * 6, 4), ((2 * 8 + 5) * 6 + 1, 2)):
        outputs[2][0, anchor] = logit
        outputs[3][0, anchor] = [4, -8, 32, 16, 12, -8, *[0] * 10]
    # The centre of the anchor is at 88, 40 of the input, which shows 256 x 256 pixels from -64, 0 on.
    area = Area((128, 256), -64, 0, 192, 256)
    [box] = task.answer(outputs, Question(area=area)).boxes
    assert (box.left, box.top, box.right, box.bottom) == (88, 48, 128, 80)  # the right edge would be 152
    assert box.category.name == "face" and box.category.score == pytest.approx(1 / (1 + np.exp(-4)))
    assert box.keypoints[0] == (136, 64) and box.keypoints[1] == (112, 80) and len(box.keypoints) == 6


# ---- Segmentation and pose ----

PATTERN = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 0]], np.uint8)


@pytest.mark.parametrize("end", ["ARG_MAX", "SOFTMAX"])
def test_mask(tmp_path: Path, end: str) -> None:
    found = tasks.answer(opened(tmp_path, models.segmenter(end)), grey(PATTERN * 255), labels=["black", "white"])
    assert isinstance(found, tasks.Segmentation)
    assert np.array_equal(found.mask, PATTERN)
    assert found.lines() == ["white 56.2 % of the pixels", "black 43.8 % of the pixels"]


def test_mask_with_channels_first(tmp_path: Path) -> None:
    model = opened(tmp_path, models.segmenter_channels_first())
    assert np.array_equal(tasks.segment(model, grey(PATTERN * 255)).mask, PATTERN)


def test_mask_between_bars(tmp_path: Path) -> None:
    """The network sees a wide picture in two rows, and the mask has the picture's size."""
    wide = np.kron(PATTERN[:2], np.ones((10, 10), np.uint8))
    found = tasks.segment(opened(tmp_path, models.segmenter()), grey(wide * 255))
    assert np.array_equal(found.mask, wide)
    drawn = np.asarray(found.draw(grey(wide * 255)))
    assert drawn.shape[1] == 800 and drawn.shape[0] > 400
    assert not drawn[100, 300].any()  # class 0 is not coloured
    np.testing.assert_allclose(drawn[100, 100], 0.55 * np.array(colour_of(1)) + 0.45 * 255, atol=3)


def test_pose(tmp_path: Path) -> None:
    rows = np.zeros((17, 3), np.uint8)
    rows[:, 0], rows[:, 1], rows[:, 2] = 15 * np.arange(17), 102, 51  # scores of 0.2
    rows[[0, 10], 2] = 255, 153
    found = tasks.find_poses(opened(tmp_path, models.pose()), grey(rows))
    [person] = found.people
    np.testing.assert_allclose([keypoint.y for keypoint in person.keypoints], np.arange(17) * 15 / 255 * 17, atol=1e-5)
    np.testing.assert_allclose([keypoint.x for keypoint in person.keypoints], 0.4 * 3, atol=1e-5)
    assert found.lines() == ["nose 1.00 at (1, 0)", "right wrist 0.60 at (1, 10)"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 2, 1)])
def test_poses_of_two_people(order: tuple[int, ...]) -> None:
    """The input shows 330 x 330 pixels from 10, -50 on, in 33 x 33."""
    forms = ((1, 5, 17, 2), (1, 5, 17), (1, 5), (1,))
    source, *maps = (Tensor(name=str(n), shape=(1, 33, 33, n), dtype="float32") for n in (3, 17, 34, 64))
    made = [Tensor(name=f"y{n}", shape=shape, dtype="float32") for n, shape in enumerate(forms)]
    settings = Decoding(max_detections=5, score_threshold=0.2, stride=16, nms_radius=10)
    node = Node(DecodePoses(settings=settings), "#0", tuple(maps), tuple(made))
    task = task_of(Graph((source,), (node,), tuple(made[n] for n in order)))
    assert isinstance(task, PoseNet)
    outputs = [np.zeros(shape, np.float32) for shape in forms]
    outputs[3][0] = 2
    outputs[0][0, 0, 0], outputs[1][0, 0, 0] = (16, 32), 0.75  # y and x
    outputs[0][0, 1, 5], outputs[1][0, 1, 5] = (0, 8), 0.5
    outputs[1][0, 4] = 1  # no pose
    area = Area((400, 200), 10, -50, 340, 280)
    found = task.answer([outputs[n] for n in order], Question(area=area))
    assert isinstance(found, tasks.Poses) and len(found.people) == 2
    assert found.lines() == ["person 1: nose 0.75 at (340, 115)", "person 2: left shoulder 0.50 at (92, -50)"]
    drawn = np.asarray(found.draw(grey(np.zeros((200, 400)))))
    assert (drawn[230, 680] == colour_of(2)).all() and not drawn[230, 600].any()


# ---- Classification and labels ----


def test_classes(tmp_path: Path) -> None:
    """Four white pixels: logits of -4, 2 and 4."""
    wanted = np.exp([-4, 2, 4]) / np.exp([-4, 2, 4]).sum()
    for end in ("SOFTMAX", "logits"):
        found = tasks.classify(opened(tmp_path, models.classifier(end)), grey(np.full((2, 2), 255)), ["a", "b", "c"])
        assert [each.name for each in found.categories] == ["c", "b", "a"] and found.best.index == 2
        scores = [each.score for each in sorted(found.categories, key=lambda each: each.index)]
        np.testing.assert_allclose(scores, wanted, atol=0.01)


def test_labels_in_the_file(tmp_path: Path) -> None:
    model, files = tmp_path / "net.tflite", io.BytesIO()
    with zipfile.ZipFile(files, "w") as made:
        made.writestr("labels.txt", "a\nb\nc\n")
        made.writestr("other.txt", "a\n")
    model.write_bytes(models.classifier() + files.getvalue())
    assert packed_labels(model, 3) == ["a", "b", "c"] and packed_labels(model, 2) is None
    model.write_bytes(models.classifier())
    assert packed_labels(model, 3) is None


# ---- Recognition and refusals ----


@pytest.mark.parametrize(
    ("model", "task"),
    [
        (models.detector(), "detection"),
        (models.heat_map(40), "detection"),
        (models.segmenter(), "segmentation"),
        (models.pose(), "pose"),
        (models.classifier(), "classification"),
        (models.classifier("logits"), None),
        (models.segmenter("CONV_2D"), None),
    ],
)
def test_recognition(model: bytes, task: str | None) -> None:
    graph = tflite.from_bytes(model)
    if task:
        assert task_of(graph).name == task_of(graph, task).name == task
    else:
        with pytest.raises(InputError, match="no task is recognised; name it "):
            task_of(graph)


def test_a_softmax_of_other_rows_is_no_classification() -> None:
    """Four probabilities of each row, and then a vector of all."""
    net = Builder()
    source, likely, made = (net.tensor(shape, **models.LIKELY) for shape in ((1, 3, 4, 1), (1, 3, 4), (1, 12)))
    rows = net.tensor((1, 3, 4), **models.LIKELY)
    net.operator("RESHAPE", [source], [rows], newShape=[1, 3, 4])
    net.operator("SOFTMAX", [rows], [likely], beta=1.0)
    net.operator("RESHAPE", [likely], [made], newShape=[1, 12])
    with pytest.raises(InputError, match="no task is recognised"):
        task_of(tflite.from_bytes(net.pack([source], [made])))


def test_a_named_task() -> None:
    assert task_of(tflite.from_bytes(models.segmenter("CONV_2D")), "segmentation").classes == 2
    with pytest.raises(InputError, match="no pose that can be read: it needs one output 1 x 1 x 17 x 3 of MoveNet"):
        task_of(tflite.from_bytes(models.classifier()), "pose")
    with pytest.raises(InputError, match="unknown task 'poses'; did you mean 'pose'?"):
        task_of(tflite.from_bytes(models.pose()), "poses")


def test_labels_that_do_not_fit(tmp_path: Path) -> None:
    session = opened(tmp_path, models.classifier())
    with pytest.raises(InputError, match="2 labels are given, the network has 3 classes"):
        tasks.classify(session, grey(np.zeros((2, 2))), ["a", "b"])
    with pytest.raises(InputError, match="the task pose has no classes: leave them out"):
        tasks.answer(opened(tmp_path, models.pose()), grey(np.zeros((17, 3))), labels=["a"])


# ---- Pictures ----


def test_fits() -> None:
    picture = grey(np.full((10, 30), 255))
    square, stretch, pad = (read_photo(picture, (6, 6), fit) for fit in ("square", "stretch", "pad"))
    assert square.pixels.all() and square.area == Area((30, 10), 10, 0, 20, 10)
    assert stretch.pixels.all() and stretch.area == Area((30, 10), 0, 0, 30, 10)
    assert pad.area == Area((30, 10), 0, -10, 30, 20)
    assert np.array_equal(pad.pixels[:, 0, 0], [0, 0, 255, 255, 0, 0])
    assert [photo.notes for photo in (square, stretch, pad)] == [
        ("30 x 10 pixels: the middle square was taken",),
        ("30 x 10 pixels: stretched to 6 x 6",),
        ("30 x 10 pixels: scaled to fit, with black bars",),
    ]


@pytest.mark.parametrize(
    ("picture", "threshold", "reason"),
    [
        (np.zeros((4, 4)), None, "the picture is ndarray: give a file or an image of Pillow"),
        (grey(PATTERN), "0.5", "threshold '0.5': must be a number from 0 to 1"),
        (grey(PATTERN), float("nan"), "threshold nan: must be a number from 0 to 1"),
    ],
)
def test_arguments_that_are_rejected(picture: object, threshold: object, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{reason}$"):
        tasks.answer(opened(tmp_path, models.detector()), picture, threshold=threshold)
