# SPDX-License-Identifier: Apache-2.0
"""A design space of two small models, for the tests of `eyrie explore`."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.measure.campaigns import executors
from eyrie.runtime import folders
from tests.commands.campaign_tasks import in_threads
from tests.commands.small_nets import separable
from tests.commands.test_zoo import convolution


def written(text: str, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a space and its models one.tflite and two.tflite. Results go to folder/build; tasks run in threads."""
    monkeypatch.setattr(folders, "BUILD", folder / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    (folder / "one.tflite").write_bytes(convolution(np.random.default_rng(seed)))
    (folder / "two.tflite").write_bytes(separable(np.random.default_rng(seed)))
    (folder / "space.toml").write_text(text)
    return folder / "space.toml"
