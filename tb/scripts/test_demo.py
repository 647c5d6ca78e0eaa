# SPDX-License-Identifier: Apache-2.0
"""scripts/demo.py and make: what is no picture, and what is no test, is refused in one line."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from runtime.folders import ROOT
from tb.net.demo_net import PHOTO
from tb.scripts.commands import assert_refused, eyrie, files, python


def truncated(path: Path) -> None:
    """The header and the first rows are there: only decoding finds out."""
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)
    Picture.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:60_000])


def damaged(path: Path) -> None:
    content = bytearray(PHOTO.read_bytes())
    content[60:200] = bytes(140)
    path.write_bytes(content)


PICTURES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "cannot be read (No such file or directory): give a PNG or JPEG file"),
    "folder": (Path.mkdir, "cannot be read (Is a directory): give a PNG or JPEG file"),
    "empty": (lambda path: path.write_bytes(b""), "no picture, or of a kind that is not known: give a PNG"),
    "text": (lambda path: path.write_text("a cat\n" * 50), "no picture, or of a kind that is not known"),
    "truncated": (truncated, "a damaged picture: save it anew as a PNG or JPEG file"),
    "header only": (lambda path: path.write_bytes(PHOTO.read_bytes()[:20]), "a damaged picture"),
    "damaged": (damaged, "a damaged picture"),
}


@pytest.mark.parametrize("what", PICTURES)
def test_pictures_refused(what: str, tmp_path: Path) -> None:
    make, reason = PICTURES[what]
    picture = tmp_path / "photo.png"
    make(picture)
    before = files(tmp_path)
    run = eyrie("demo", "--image", picture)
    assert_refused(run, f"eyrie demo: {picture}: {reason}")
    assert not run.stdout and files(tmp_path) == before


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    truncated(tmp_path / "photo.png")
    run = python("scripts/demo.py", "--image", tmp_path / "photo.png")
    assert_refused(run, f"eyrie demo: {tmp_path / 'photo.png'}: a damaged picture")
    assert not run.stdout


def test_command_line_refused() -> None:
    assert_refused(eyrie("demo", "--imge", "x"), "eyrie demo: no option is named '--imge': did you mean '--image'?")


def test_make_sim_names_an_unknown_test() -> None:
    # Without the variables of a make that runs the tests: with them this one talks about folders.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(["make", "sim", "TEST=nosuch"], cwd=ROOT, env=environment, capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert run.returncode != 0 and not run.stdout and len(said) == 1
    assert said[0].startswith("eyrie sim: no test is named 'nosuch': make list names those there are")
