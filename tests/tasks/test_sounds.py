# SPDX-License-Identifier: Apache-2.0
"""Answers to sounds: samples, or features that a front end computes."""

from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie import tasks
from eyrie.model.errors import InputError
from eyrie.session import Session
from eyrie.tasks.sound import sound_input
from tests.tasks import models
from tests.tasks.sounds import SECOND, saved


def opened(path: Path, model: bytes) -> Session:
    path.write_bytes(model)
    return eyrie.load(path, back_end="golden")


def test_samples(tmp_path: Path) -> None:
    """Samples of a network with a quantised input are from -1 to 1."""
    session = opened(tmp_path / "net.tflite", models.classifier(shape=(1, 8000)))
    samples = np.tile(np.int16([16384, -32768, 0, 0]), 2000)
    values, notes = sound_input(saved(tmp_path / "a.wav", samples), session.graph, None)
    assert values.shape == (1, 1, 8000) and not notes
    assert values[0, 0, :4].tolist() == [63, -128, -1, -1]  # 0.5 / (2 / 255) - 1 = 62.75, -127.5 - 1
    found = tasks.classify_sound(session, saved(tmp_path / "low.wav", np.full(8000, -9000, np.int16)))
    assert found.best.index == 0 and found.best.score > 0.99


def test_features(tmp_path: Path) -> None:
    """Three rows of two features: the first two samples of windows that begin each 320 samples."""
    session = opened(tmp_path / "net.tflite", models.classifier(shape=(1, 3, 2)))
    front_end = opened(tmp_path / "front_end.tflite", models.front_end())
    samples = np.zeros(SECOND, np.int16)
    samples[[0, 1, 320, 321, 640, 641, 960]] = 1, 2, 3, 4, 5, 6, 7
    values, notes = sound_input(saved(tmp_path / "a.wav", samples), session.graph, front_end)
    assert values.tolist() == [[[[1, 2], [3, 4], [5, 6]]]]
    assert notes == [
        "1.00 s: the first 0.07 s were taken",
        "features of 3 windows of 480 samples, one each 320, by front_end.tflite, whose output has no scale to "
        "compare with the network's",
    ]
    values, notes = sound_input(saved(tmp_path / "short.wav", samples[:321]), session.graph, front_end)
    assert values.tolist() == [[[[1, 2], [3, 0], [0, 0]]]]
    assert notes[0] == "0.02 s: silence was added up to 0.07 s"


@pytest.mark.parametrize(
    ("samples", "given", "said"),
    [
        (
            np.zeros(8, np.int16),
            {"channels": 2},
            "channels 2, bits 16, rate 16,000 Hz; must be 1, 16 and 16,000 Hz: ",
        ),
        (np.zeros(8, np.int16), {"rate": 44_100}, "channels 1, bits 16, rate 44,100 Hz"),
        (np.zeros(8, np.uint8), {}, "channels 1, bits 8, rate 16,000 Hz"),
    ],
)
def test_other_sounds(tmp_path: Path, samples: np.ndarray, given: dict, said: str) -> None:
    session = opened(tmp_path / "net.tflite", models.classifier(shape=(1, 8000)))
    with pytest.raises(InputError, match=said):
        tasks.classify_sound(session, saved(tmp_path / "a.wav", samples, **given))


def test_a_front_end_that_does_not_fit(tmp_path: Path) -> None:
    sound = saved(tmp_path / "a.wav", np.zeros(SECOND, np.int16))
    front_end = opened(tmp_path / "front_end.tflite", models.front_end())
    session = opened(tmp_path / "net.tflite", models.classifier(shape=(1, 9)))
    with pytest.raises(InputError, match="makes int8 1 x 2 of a window: no row of the network's input t0, int8 1 x 9"):
        tasks.classify_sound(session, sound, front_end=front_end)
    with pytest.raises(InputError, match="input t0 is int8 1 x 9: no samples of half a second or more"):
        tasks.classify_sound(session, sound)
    with pytest.raises(InputError, match="input t0 is int8 1 x 9, must be a window of int16 samples"):
        tasks.classify_sound(session, sound, front_end=session)
    other = opened(tmp_path / "other.tflite", models.front_end(scale=0.1, zero_point=-1))
    rows = opened(tmp_path / "rows.tflite", models.classifier(shape=(1, 3, 2)))
    with pytest.raises(
        InputError, match="output has scale 0.1 and zero point -1, the network's input scale 0.00784314 and zero"
    ):
        tasks.classify_sound(rows, sound, front_end=other)
    with pytest.raises(InputError, match="the network is for pose: give a picture"):
        tasks.classify_sound(opened(tmp_path / "pose.tflite", models.pose()), sound)
