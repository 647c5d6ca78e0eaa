# SPDX-License-Identifier: Apache-2.0
"""scripts/demo.py in a process of its own (tb/scripts/bad_inputs has more of what is no picture)."""

from pathlib import Path

import numpy as np
from PIL import Image as Picture

from tb.scripts.commands import assert_refused, python


def truncated(path: Path) -> None:
    """The header and the first rows are there: only decoding finds out."""
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)
    Picture.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:60_000])


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    truncated(tmp_path / "photo.png")
    run = python("scripts/demo.py", "--image", tmp_path / "photo.png")
    assert_refused(run, f"eyrie demo: {tmp_path / 'photo.png'}: a damaged picture")
    assert not run.stdout
