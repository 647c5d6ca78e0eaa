# SPDX-License-Identifier: Apache-2.0
"""Kept folders: a damaged one is made anew, whatever was done to it; so are compiled programs and C programs."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.runtime import cached_folders as module
from eyrie.runtime import programs
from eyrie.runtime.cached_folders import MANIFEST, cached, is_whole
from eyrie.testing.samples import scaled
from tests.commands.small_nets import separable

CONTENTS = {"one.bin": bytes(range(256)), "part/two.txt": b"two"}


def make(folder: Path) -> Path:
    def fill(part: Path, _task: object) -> None:
        for name, data in CONTENTS.items():
            (part / name).parent.mkdir(exist_ok=True)
            (part / name).write_bytes(data)

    return cached(folder, "making", fill)


def flip(folder: Path, rng: np.random.Generator) -> None:
    path = a_file(folder, rng)
    data = bytearray(path.read_bytes())
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    state = path.stat()
    overwrite(path, bytes(data))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # as a disk does that loses bits


def cut(folder: Path, rng: np.random.Generator) -> None:
    path = a_file(folder, rng)
    overwrite(path, path.read_bytes()[: int(rng.integers(path.stat().st_size))])


def delete(folder: Path, rng: np.random.Generator) -> None:
    a_file(folder, rng).unlink()


def add(folder: Path, rng: np.random.Generator) -> None:
    (folder / "three").write_bytes(b"3")


def swap(folder: Path, rng: np.random.Generator) -> None:
    first, second = rng.permutation(sorted(path for path in folder.rglob("*") if path.is_file()))[:2]
    data = first.read_bytes(), second.read_bytes()
    overwrite(first, data[1])
    overwrite(second, data[0])


def lock(folder: Path, rng: np.random.Generator) -> None:
    path = Path(rng.choice(sorted(str(path) for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)))
    path.chmod(path.stat().st_mode ^ 0o100)


def empty(folder: Path, rng: np.random.Generator) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def overwrite(path: Path, data: bytes) -> None:
    """Put another file in the place of one: this process may have loaded the one that is there as a library."""
    other = path.with_name(f"{path.name}.other")
    other.write_bytes(data)
    other.replace(path)


def a_file(folder: Path, rng: np.random.Generator) -> Path:
    return Path(rng.choice(sorted(str(path) for path in folder.rglob("*") if path.is_file() and path.stat().st_size)))


DAMAGES: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "flip": flip,
    "cut": cut,
    "delete": delete,
    "add": add,
    "swap": swap,
    "lock": lock,
    "empty": empty,
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_folder_is_made_anew(what: str, seed: int, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(seed), make(tmp_path / "cached")
    for _ in range(scaled(20)):
        assert is_whole(folder)
        DAMAGES[what](folder, rng)
        assert not is_whole(folder)
        make(folder)
        assert {name: (folder / name).read_bytes() for name in CONTENTS} == CONTENTS


def test_a_whole_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "cached")
    before = folder.stat().st_ino
    opened = []
    monkeypatch.setattr(module.hashlib, "file_digest", lambda file, name: opened.append(file.name))
    assert make(folder).stat().st_ino == before and not opened  # a digest is computed once in a process


def test_a_folder_in_the_place_of_another_is_made_anew(tmp_path: Path) -> None:
    make(tmp_path / "cached").rename(tmp_path / "other")
    assert not is_whole(tmp_path / "other")
    make(tmp_path / "other")
    assert is_whole(tmp_path / "other")


def test_a_folder_without_a_manifest_is_not_whole(tmp_path: Path) -> None:
    folder = make(tmp_path / "cached")
    (folder / MANIFEST).unlink()
    assert not is_whole(folder) and not is_whole(tmp_path / "none")


@pytest.mark.parametrize("back_end", ["functional", "c"])
def test_damaged_programs_are_repaired(
    back_end: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "PROGRAMS", tmp_path / "programs")
    rng = np.random.default_rng(seed)
    (tmp_path / "net.tflite").write_bytes(separable(rng))
    values = rng.integers(-128, 128, (8, 8, 3)).astype(np.int8)
    expected = eyrie.load(tmp_path / "net.tflite", back_end=back_end)(values)
    for what in (*DAMAGES, *rng.choice([*DAMAGES], scaled(12))):
        [folder] = [path for path in (tmp_path / "programs").iterdir() if path.is_dir()]
        DAMAGES[what](folder, rng)
        found = eyrie.load(tmp_path / "net.tflite", back_end=back_end)(values)
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected), what


def test_a_long_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PROGRAMS", tmp_path / "programs")
    model = tmp_path / f"{'n' * 245}.tflite"
    model.write_bytes(separable(np.random.default_rng(1)))
    assert eyrie.load(model, back_end="functional")(np.zeros((8, 8, 3), np.int8))
