"""scripts/demo.py and make: what is no picture, and what is no test, is refused in one line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from tb.common.sources import ROOT
from tb.net.demo_net import PHOTO
from tb.scripts.commands import assert_refused, call, files, python

sys.path.insert(0, str(ROOT / "scripts"))

import demo  # noqa: E402


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
    "missing": (lambda path: None, "No such file or directory"),
    "folder": (Path.mkdir, "Is a directory"),
    "empty": (lambda path: path.write_bytes(b""), "damaged, or no picture"),
    "text": (lambda path: path.write_text("a cat\n" * 50), "damaged, or no picture"),
    "truncated": (truncated, "damaged, or no picture"),
    "header only": (lambda path: path.write_bytes(PHOTO.read_bytes()[:20]), "damaged, or no picture"),
    "damaged": (damaged, "damaged, or no picture"),
}


@pytest.mark.parametrize("what", PICTURES)
def test_pictures_refused(what: str, tmp_path: Path) -> None:
    make, reason = PICTURES[what]
    picture = tmp_path / "photo.png"
    make(picture)
    before = files(tmp_path)
    run = call("demo", "--image", picture)
    assert_refused(run, f"demo: {picture}: cannot be read ({reason}): give a PNG or JPEG file\n")
    assert not run.stdout and files(tmp_path) == before


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    truncated(tmp_path / "photo.png")
    run = python("scripts/demo.py", "--image", tmp_path / "photo.png")
    assert_refused(run, f"demo: {tmp_path / 'photo.png'}: cannot be read (damaged, or no picture)")
    assert not run.stdout


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK"])
def test_pictures_of_any_kind_become_32_by_32(mode: str, tmp_path: Path) -> None:
    path = tmp_path / ("photo.tiff" if mode == "CMYK" else "photo.png")
    Picture.new("RGB", (70, 40), (255, 255, 255)).convert(mode).save(path)
    photo = demo.read_photo(path)
    assert photo.shape == (32, 32, 3) and photo.dtype == np.uint8 and (photo == 255).all()


def test_shipped_photo_is_taken_as_it_is() -> None:
    assert np.array_equal(demo.read_photo(PHOTO), np.asarray(Picture.open(PHOTO).convert("RGB")))


def test_command_line_refused() -> None:
    assert_refused(call("demo", "--photo", "x"), "demo: unrecognized arguments: --photo x; see --help")


def test_make_sim_names_an_unknown_test() -> None:
    # Without the variables of a make that runs the tests: with them this one talks about folders.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(["make", "sim", "TEST=nosuch"], cwd=ROOT, env=environment, capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert run.returncode != 0 and not run.stdout and len(said) == 1
    assert said[0].startswith("eyrie: no test is named 'nosuch'; known: ")
