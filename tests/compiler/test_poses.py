# SPDX-License-Identifier: Apache-2.0
"""PosenetDecoderOp: maps of people whose keypoints are known give these keypoints back."""

from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

from eyrie.compiler.frontend import tflite
from eyrie.compiler.operators.poses import DecodePoses
from eyrie.compiler.parts import Compiled, compile_parts
from eyrie.measure.expected import outputs_by
from eyrie.model.config import DEFAULT
from eyrie.model.operators.poses import EDGES
from eyrie.model.operators.reference import Reference
from eyrie.session import Session, session_of
from eyrie.testing.tflite_builder import STEPS, Builder

STRIDE, OPTIONS = 16, {"max_detections": 5, "score_threshold": 0.3, "stride": 16, "nms_radius": 10.0}
LOW = -8.0  # the logit where no keypoint is


def people(rng: np.random.Generator, count: int) -> np.ndarray:
    """Keypoints [count, 17, 2] in cells, in strips of 7 rows and columns of 7 x 7."""
    strips = np.array([0, 7 * 17]) * np.arange(count)[:, None, None] * [0, 1]
    squares = 7 * np.stack([np.zeros(17), np.arange(17)], 1)
    return (strips + squares + rng.uniform(2, 4, (count, 17, 2))).astype(np.float32)


def maps_of(found: np.ndarray, logits: np.ndarray, size: tuple[int, int]) -> list[np.ndarray]:
    """Scores, short and middle offsets in pixels: all cells of a keypoint's square of 7 x 7 lead to the keypoint."""
    cells = np.stack(np.indices(size), -1).astype(np.float32)
    made = [np.full((*size, 17), LOW), np.zeros((*size, 34)), np.zeros((*size, 64))]
    for person, logit in zip(found, logits, strict=True):
        for keypoint, place in enumerate(person):
            left = 7 * int(place[1] // 7)
            square = (slice(0, 7), slice(left, left + 7))
            away = person - cells[square][:, :, None]
            made[0][(*square, keypoint)] = logit
            made[1][(*square, keypoint)], made[1][(*square, 17 + keypoint)] = np.moveaxis(away[:, :, keypoint], -1, 0)
            for number, ends in enumerate(EDGES):
                if keypoint in ends:
                    forward = keypoint == ends[0]
                    to = away[:, :, ends[1] if forward else ends[0]]
                    for axis in (0, 1):
                        made[2][(*square, number + 16 * axis + (0 if forward else 32))] = to[..., axis]
    return [made[0][None], STRIDE * made[1][None], STRIDE * made[2][None]]


def decoder(maps: list[np.ndarray], kind: str = "float32", options: dict | None = None, outputs: int = 4) -> bytes:
    """A model of maps of these shapes; in uint8 with scales that hold all of their values."""
    net = Builder()
    scales = [np.ptp(each) / 255 for each in maps]
    least = {"uint8": 0, "int8": -128, "float32": 0}[kind]
    points = [round(float(-each.min() / scale)) + least for each, scale in zip(maps, scales, strict=True)]
    inputs = [
        net.tensor(each.shape, kind) if kind == "float32" else net.tensor(each.shape, kind, scale, point)
        for each, scale, point in zip(maps, scales, points, strict=True)
    ]
    made = [net.tensor((), "float32") for _ in range(outputs)]
    net.custom("PosenetDecoderOp", inputs, made, bytes(flexbuffers.Dumps(OPTIONS if options is None else options)))
    return net.pack(inputs, made)


def opened(model: bytes) -> Session:
    return session_of(tflite.from_bytes(model), "poses", DEFAULT, "golden")


def compiled(folder: Path, model: bytes) -> Compiled:
    (folder / "net.tflite").write_bytes(model)
    return compile_parts(folder / "net.tflite")


def run(session: Session, values: list[np.ndarray]) -> list[np.ndarray]:
    return [each[0] for each in session.run(values)]


def decoded(maps: list[np.ndarray], kind: str = "float32") -> list[np.ndarray]:
    session = opened(decoder(maps, kind))
    values = [each.astype(np.float32) for each in maps]
    if kind == "uint8":
        values = [np.round((each - each.min()) / (np.ptp(each) / 255)).clip(0, 255).astype(np.uint8) for each in maps]
    return run(session, values)


def probability(logit: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logit))


@pytest.mark.parametrize("kind", ["float32", "uint8"])
def test_people_are_found(kind: str, seed: int) -> None:
    """The surest first; one is below the threshold."""
    rng = np.random.default_rng(seed)
    found, logits = people(rng, 4), np.array([0.5, 3.0, -1.5, 1.5])
    places, scores, means, count = decoded(maps_of(found, logits, (7, 7 * 17 * 4)), kind)
    assert count == [3]
    pixels, part = (0.01, 1e-5) if kind == "float32" else (2, 0.01)
    for row, person in enumerate((1, 3, 0)):
        np.testing.assert_allclose(places[0, row], STRIDE * found[person], atol=pixels)
        np.testing.assert_allclose(
            scores[0, row], probability(logits[person]), atol=1e-5 if kind == "float32" else 0.01
        )
        np.testing.assert_allclose(means[0, row], probability(logits[person]), atol=part)
    assert not places[0, 3:].any() and not scores[0, 3:].any() and not means[0, 3:].any()


def test_the_surest_people_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, logits = people(rng, 7), rng.permutation(np.linspace(0.2, 3, 7))
    places, _, means, count = decoded(maps_of(found, logits, (7, 7 * 17 * 7)))
    best = np.argsort(-logits)[:5]
    assert count == [5]
    np.testing.assert_allclose(places[0], STRIDE * found[best], atol=0.01)
    np.testing.assert_allclose(means[0], probability(logits[best]), atol=1e-5)


def test_a_keypoint_of_two_people_counts_once(seed: int) -> None:
    """The less sure of two people has its right ankle where the other has it."""
    rng = np.random.default_rng(seed)
    found, logits = people(rng, 2), np.array([1.0, 2.0])
    maps = maps_of(found, logits, (7, 7 * 17 * 2))
    knee = 7 * int(found[0, 14, 1] // 7)  # the edge of the knee leads to the other ankle
    to = STRIDE * (found[1, 16] - np.stack(np.indices((7, 7)), -1) - [0, knee])
    maps[2][0, :, knee : knee + 7, [15, 31]] = np.moveaxis(to, -1, 0)
    places, scores, means, count = decoded(maps)
    assert count == [2]
    np.testing.assert_allclose(places[0, 1, 16], STRIDE * found[1, 16], atol=0.01)
    np.testing.assert_allclose(scores[0, 1, 16], probability(logits[1]), atol=1e-5)
    np.testing.assert_allclose(means[0, 1], 16 / 17 * probability(logits[0]), atol=1e-5)


def test_masks(seed: int) -> None:
    """Long offsets lead from the left cells to one person, from the right cells to the other."""
    size, rng = (33, 33), np.random.default_rng(seed)
    found = np.stack([rng.uniform((2, left + 2), (31, left + 12), (17, 2)) for left in (0, 17)])
    maps = [np.full((1, *size, channels), value) for channels, value in ((17, LOW), (34, 0.0), (64, 0.0))]
    cells = np.stack(np.indices(size), -1)
    for person, logit in zip(found, (2.0, 1.0), strict=True):
        for keypoint, (y, x) in enumerate(person):
            maps[0][0, int(y) : int(y) + 2, int(x) : int(x) + 2, keypoint] = logit
    sides = found[(cells[..., 1] >= 16).astype(int)]  # [H, W, 17, 2]
    away = STRIDE * (sides - cells[:, :, None])
    maps.append(np.concatenate([away[..., 0], away[..., 1]], -1)[None])
    edges = np.array(EDGES)
    for k, (start, end) in enumerate(edges):
        for channel, to in ((k, end), (32 + k, start)):
            maps[2][0, ..., channel], maps[2][0, ..., channel + 16] = np.moveaxis(away[:, :, to], -1, 0)
    maps[1] = maps[3].copy()
    session = opened(decoder(maps, outputs=5))
    *_, count, masks = run(session, [each.astype(np.float32) for each in maps])
    assert count == [2] and masks.shape == (1, 5, 33, 33)
    first = int(masks[0, 0, 16, 0] == 0)  # the row of the left person
    assert np.array_equal(masks[0, first], (cells[..., 1] < 16).astype(np.float32))
    assert np.array_equal(masks[0, 1 - first], (cells[..., 1] >= 16).astype(np.float32))


@pytest.mark.parametrize("threshold", [-1.0, 0.99, 2.0, float("nan")])
def test_a_threshold_that_no_score_reaches(threshold: float, seed: int) -> None:
    maps = maps_of(people(np.random.default_rng(seed), 1), np.ones(1), (7, 7 * 17))
    session = opened(decoder(maps, options={**OPTIONS, "score_threshold": threshold}))
    *_, count = run(session, [each.astype(np.float32) for each in maps])
    assert count == [0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "int8"}, "its maps are of int8, not of uint8 or float32"),
        ({"options": {**OPTIONS, "stride": 0}}, "5 poses, must be 1 to 65,536; a stride of 0"),
        ({"options": {**OPTIONS, "max_detections": 10**9}}, "1,000,000,000 poses, must be 1 to 65,536"),
        ({"options": {"stride": 16}}, "it has no option max_detections: convert the model again"),
        ({"outputs": 3}, "3 inputs and 3 outputs: convert the model again"),
    ],
)
def test_rejected(change: dict, said: str, tmp_path: Path) -> None:
    maps = maps_of(people(np.random.default_rng(0), 1), np.ones(1), (7, 7 * 17))
    with pytest.raises(ValueError, match=f"operator #0 PosenetDecoderOp: {said}"):
        compiled(tmp_path, decoder(maps, **change))


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((4, 5, 17), (3, 5, 34), (4, 5, 64)), "maps of 4 x 5 and 3 x 5 do not go together"),
        (((4, 5, 17), (4, 5, 64), (4, 5, 34)), "a map of float32 1 x 4 x 5 x 64, must be uint8 or float32 of 1 x H x "),
        (((4, 5, 17), (4, 5, 34)), "takes 3 tensors, has 2"),
        (((40, 40, 17), (40, 40, 34), (40, 40, 64), (40, 40, 34)), "masks of 40 x 40 do not fit 33 x 33"),
    ],
)
def test_maps_that_do_not_fit(shapes: tuple, said: str, tmp_path: Path) -> None:
    maps = [np.linspace(0, 1, int(np.prod(shape))).reshape(1, *shape) for shape in shapes]
    with pytest.raises(ValueError, match=f"operator #0 PosenetDecoderOp: {said}"):
        compiled(tmp_path, decoder(maps, outputs=1 + len(maps)))


def test_the_operator_at_the_end_of_a_network(tmp_path: Path, seed: int) -> None:
    """An interpreter runs the network up to it."""
    net, rng, size = Builder(), np.random.default_rng(seed), (1, 6, 7)
    source = net.tensor((*size, 8), "uint8", 0.1, 128)
    maps = []
    for channels in (17, 34, 64):
        filters = net.tensor((channels, 1, 1, 8), "uint8", 0.05, 128, data=rng.integers(0, 256, (channels, 1, 1, 8)))
        bias = net.tensor((channels,), "int32", np.float32(0.1) * np.float32(0.05), data=np.zeros(channels))
        maps.append(net.tensor((*size, channels), "uint8", 0.5, 128))
        net.operator("CONV_2D", [source, filters, bias], [maps[-1]], **STEPS)
    made = [net.tensor((), "float32") for _ in range(4)]
    net.custom("PosenetDecoderOp", maps, made, bytes(flexbuffers.Dumps({**OPTIONS, "score_threshold": 0.1})))
    model = net.pack([source], [made[3], *made[:2], maps[0], made[2]])
    graph = tflite.from_bytes(model)
    assert isinstance(graph.nodes[-1].operator, DecodePoses)
    assert [part.part.side.name for part in compiled(tmp_path, model).parts] == ["ACCELERATOR", "HOST"]
    values = [rng.integers(0, 256, (1, *size[1:], 8)).astype(np.uint8) for _ in range(3)]
    session = session_of(graph, "net", DEFAULT, "functional")
    expected = outputs_by(Reference.LITERT, model, graph, [[value] for value in values])
    for value, wanted in zip(values, expected, strict=True):
        for got, right in zip(run(session, [value]), wanted, strict=True):
            np.testing.assert_array_equal(got, right)
    assert wanted[0] > 0
