# SPDX-License-Identifier: Apache-2.0
"""PosenetDecoderOp: the poses of people, from the maps of PoseNet, in float32.

Sources: Papandreou and others, "PersonLab" (arXiv:1803.08225), section 3; libcoral,
coral/pose_estimation/posenet_decoder.cc, whose order of operations this file keeps.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from eyrie.model.operators.quantization import Quantization

KEYPOINTS = 17
# The edges between keypoints, in the order of the middle offsets.
EDGES = (
    *((0, 1), (1, 3), (0, 2), (2, 4), (0, 5), (5, 7), (7, 9), (5, 11)),
    *((11, 13), (13, 15), (0, 6), (6, 8), (8, 10), (6, 12), (12, 14), (14, 16)),
)
MASK_SIDE = 33  # of an output mask, of whatever size the map is
_REFINEMENTS, _MASK_REFINEMENTS = 5, 2
_HALF = len(EDGES)
# From each keypoint: the neighbour, and the channels of y and x in the middle offsets. These have y and x of the edges
# forwards, then y and x backwards.
_NEIGHBOURS = [
    [(end, (k, _HALF + k)) for k, (start, end) in enumerate(EDGES) if start == keypoint]
    + [(start, (2 * _HALF + k, 3 * _HALF + k)) for k, (start, end) in enumerate(EDGES) if end == keypoint]
    for keypoint in range(KEYPOINTS)
]
ONE = np.float32(1)
Place = tuple[np.ndarray, np.ndarray]  # y and x in cells of a map: float32 scalars, or arrays of one shape


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Settings of `decode_poses`.

    max_detections   the most poses
    score_threshold  of keypoints that begin a pose, and of poses, 0 to 1
    stride           pixels between cells of the maps
    nms_radius       pixels within which two keypoints of a kind are one
    """

    max_detections: int
    score_threshold: float
    stride: int
    nms_radius: float


class Maps(NamedTuple):
    """Scores (logits) [H, W, 17], short offsets [H, W, 34] and middle offsets [H, W, 64], in cells; all float32."""

    scores: np.ndarray
    short: np.ndarray
    middle: np.ndarray


@dataclass(order=True)
class _Candidate:
    """A keypoint in a heap; the highest score first."""

    rank: np.float32
    place: Place = field(compare=False)
    keypoint: int = field(compare=False)


def in_cells(values: np.ndarray, quantization: Quantization | None, stride: int = 1) -> np.ndarray:
    """Return a map [1, H, W, C] of pixels as float32 [H, W, C] of cells. quantization: None for float32 values"""
    factor = ONE / np.float32(stride)
    if quantization is None:
        return values[0] * factor
    return (values[0].astype(np.float32) - np.float32(quantization.zero_point)) * (
        np.float32(quantization.scale) * factor
    )


def decode_poses(maps: Maps, settings: Decoding) -> tuple[np.ndarray, ...]:
    """Return keypoints [N, 17, 2] as y and x in pixels, their scores [N, 17], scores of poses [N] and their number [1].

    N is `max_detections`; rows from the number of poses on are 0. All are float32.
    """
    threshold, radius = (
        np.float32(settings.score_threshold),
        np.float32(settings.nms_radius) / np.float32(settings.stride),
    )
    places: list[np.ndarray] = []
    scores: list[np.ndarray] = []
    heap = _roots(maps, threshold)
    while heap and len(places) < settings.max_detections:
        root = heappop(heap)
        if any(_near(place[root.keypoint], np.stack(root.place), radius) for place in places):
            continue
        place, score = _pose(maps, root)
        if _mean(score) >= threshold:
            places.append(place)
            scores.append(score)
    means = _unshared([_mean(score) for score in scores], places, scores, radius)
    order = [n for n in _falling(means) if means[n] >= threshold]
    made = [np.zeros((settings.max_detections, *rest), np.float32) for rest in ((KEYPOINTS, 2), (KEYPOINTS,), ())]
    for row, n in enumerate(order):
        made[0][row], made[1][row], made[2][row] = places[n] * np.float32(settings.stride), scores[n], means[n]
    return *made, np.array([len(order)], np.float32)


def decode_masks(offsets: np.ndarray, keypoints: np.ndarray, count: int, stride: int) -> np.ndarray:
    """Return masks [N, 33, 33] of float32: 1 where a cell belongs to a pose.

    offsets    long offsets [H, W, 34] in cells, float32
    keypoints  [N, 17, 2] of `decode_poses`, of which the first `count` are poses

    The reference writes value (y, x) of mask n to (n x W + y) x H + x, for masks of other sizes too; without a pose,
    all cells belong to mask 0.
    """
    height, width, _ = offsets.shape
    y, x = (axis.astype(np.float32) for axis in np.indices((height, width)))
    distances = np.zeros((max(count, 1), height, width), np.float32)
    for keypoint in range(KEYPOINTS):
        place = _moved(offsets, (y, x), (keypoint, KEYPOINTS + keypoint), _MASK_REFINEMENTS + 1)
        dy, dx = (keypoints[:count, keypoint, n, None, None] - place[n] * np.float32(stride) for n in (0, 1))
        distances[:count] += dy * dy + dx * dx
    owner = distances.argmin(0)
    masks = np.zeros((len(keypoints), MASK_SIDE, MASK_SIDE), np.float32)
    rows, columns = np.indices((height, width))
    masks.reshape(-1)[(owner * width + rows) * height + columns] = 1
    return masks


def last_mask_value(height: int, width: int, count: int) -> int:
    """Return the last value that `decode_masks` writes for `count` poses."""
    return ((count - 1) * width + height - 1) * height + width - 1


def _roots(maps: Maps, threshold: np.float32) -> list[_Candidate]:
    """Return the heap of keypoints with the highest score of the 3 x 3 cells around them."""
    height, width, _ = maps.scores.shape
    around = np.pad(maps.scores, ((1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    highest = np.max([around[y : y + height, x : x + width] for y in range(3) for x in range(3)], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # no score reaches a threshold that is no probability
        logit = np.float32(-np.log(1 / (np.float64(threshold) + 1e-6) - 1))
    heap: list[_Candidate] = []
    for y, x, k in np.argwhere((maps.scores >= logit) & (maps.scores == highest)):
        dy, dx = maps.short[y, x, [k, KEYPOINTS + k]]
        place = _inside(np.float32(y) + dy, np.float32(x) + dx, (height, width))
        heappush(heap, _Candidate(-maps.scores[y, x, k], place, int(k)))
    return heap


def _pose(maps: Maps, root: _Candidate) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose that a keypoint belongs to: places [17, 2] and scores [17], from the best keypoint to its
    neighbours."""

    def score(place: Place, keypoint: int) -> np.float32:
        return -np.float32(_sampled(maps.scores, place, (keypoint,))[0])

    places, scores = np.empty((KEYPOINTS, 2), np.float32), np.empty(KEYPOINTS, np.float32)
    heap, done = [_Candidate(score(root.place, root.keypoint), root.place, root.keypoint)], set[int]()
    while heap:
        best = heappop(heap)
        if best.keypoint in done:
            continue
        done.add(best.keypoint)
        places[best.keypoint], scores[best.keypoint] = best.place, _sigmoid(-best.rank)
        for neighbour, channels in _NEIGHBOURS[best.keypoint]:
            if neighbour not in done:
                place = _moved(maps.middle, best.place, channels, 1)
                place = _moved(maps.short, place, (neighbour, KEYPOINTS + neighbour), _REFINEMENTS)
                heappush(heap, _Candidate(score(place, neighbour), place, neighbour))
    return places, scores


def _moved(offsets: np.ndarray, place: Place, channels: Sequence[int], times: int) -> Place:
    """Return the place that offsets lead to, followed some times. channels: of y and x"""
    for _ in range(times):
        dy, dx = _sampled(offsets, place, channels)
        place = _inside(place[0] + dy, place[1] + dx, offsets.shape)
    return place


def _inside(y: np.ndarray, x: np.ndarray, shape: Sequence[int]) -> Place:
    top, left = (np.clip(each, np.float32(0), np.float32(size - 1)) for each, size in zip((y, x), shape))
    return top, left


def _sampled(values: np.ndarray, place: Place, channels: Sequence[int]) -> list[np.ndarray]:
    """Return values between four cells, by bilinear interpolation, for each of the channels."""
    (top, left), (bottom, right) = ([each.astype(int) for each in map(of, place)] for of in (np.floor, np.ceil))
    down, along = place[0] - np.float32(top), place[1] - np.float32(left)
    return [
        (ONE - down) * ((ONE - along) * values[top, left, c] + along * values[top, right, c])
        + down * ((ONE - along) * values[bottom, left, c] + along * values[bottom, right, c])
        for c in channels
    ]


def _unshared(
    means: list[np.float32], places: list[np.ndarray], scores: list[np.ndarray], radius: np.float32
) -> list[np.float32]:
    """Return the scores of poses, in which keypoints that a better pose has too do not count."""
    order, made = _falling(means), list(means)
    for rank, n in enumerate(order):
        shared = np.zeros(KEYPOINTS, bool)
        for better in order[:rank]:
            shared |= _near(places[n], places[better], radius)
        made[n] = _mean(scores[n], shared)
    return made


def _near(one: np.ndarray, other: np.ndarray, radius: np.float32) -> np.ndarray:
    """Return whether places [..., 2] are within the radius of each other."""
    away = other - one
    return away[..., 0] * away[..., 0] + away[..., 1] * away[..., 1] <= radius * radius


def _mean(scores: np.ndarray, shared: np.ndarray | None = None) -> np.float32:
    """Return the mean of scores, added from the highest to the lowest; shared ones count as 0."""
    total = np.float32(0)
    for n in _falling(scores):
        if shared is None or not shared[n]:
            total += scores[n]
    return total / np.float32(len(scores))


def _falling(scores: Sequence[np.float32] | np.ndarray) -> list[int]:
    return sorted(range(len(scores)), key=lambda n: -scores[n])


def _sigmoid(value: np.float32) -> np.float32:
    return ONE / (ONE + np.float32(_expf()(-value)))


@cache
def _expf() -> "ctypes._NamedFuncPointer":
    """Return the C library's exponential of float32, whose last bit the reference has."""
    function = ctypes.CDLL(None).expf
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return function
