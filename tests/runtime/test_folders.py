# SPDX-License-Identifier: Apache-2.0
"""runtime/folders.py: what appears is whole, what fails or is killed leaves nothing, runs at the same time do not
meet."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from eyrie.compiler.files import whole_file
from eyrie.runtime import folders
from eyrie.runtime.folders import ROOT, replacing
from tests.commands.commands import files

ROUNDS = 50


class Kept(ValueError):
    pass


def fill(folder: Path, text: str) -> None:
    for name in ("one", "two"):
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    target = tmp_path / "run"
    for text in ("first", "second"):
        with replacing(target) as own:
            assert not list(own.iterdir()) and own.parent == target.parent
            fill(own, text)
            assert text == "first" or contents(target) == {"one": "first", "two": "first"}
    assert contents(target) == {"one": "second", "two": "second"}
    assert files(tmp_path) == {"run", "run/one", "run/two", ".lock"}


@pytest.mark.parametrize("before", ["file", "link", "other system"])
def test_whatever_was_there_is_replaced(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine")
    if before == "file":
        target.write_text("text")
    elif before == "link":
        target.symlink_to(elsewhere)
    else:
        target.mkdir()
        monkeypatch.setattr(folders, "_exchange", lambda one, other: False)
    with replacing(target) as own:
        fill(own, "new")
    assert contents(target) == {"one": "new", "two": "new"} and not target.is_symlink()
    assert contents(elsewhere) == {"kept": "mine"}
    assert {path.name for path in tmp_path.iterdir()} == {"run", "elsewhere", ".lock"}


def test_after_a_failure_all_is_as_before(tmp_path: Path) -> None:
    target = tmp_path / "run"
    with replacing(target) as own:
        fill(own, "good")
    for failure in (ValueError, KeyboardInterrupt):
        with pytest.raises(failure), replacing(target, keep=Kept) as own:
            fill(own, "half")
            raise failure
    assert contents(target) == {"one": "good", "two": "good"}
    with pytest.raises(Kept), replacing(target, keep=Kept) as own:
        (own / "log").write_text("why")
        raise Kept
    assert contents(target) == {"log": "why"}
    assert {path.name for path in tmp_path.iterdir()} == {"run", ".lock"}


def test_many_at_once_never_mix(tmp_path: Path) -> None:
    target = tmp_path / "run"

    def one(number: int) -> None:
        with replacing(target) as own:
            fill(own, str(number))

    def seen() -> set[str]:
        """The texts of both files of one and the same folder, as far as it is still there."""
        texts = set()
        descriptor = os.open(target, os.O_RDONLY)
        with suppress(FileNotFoundError):  # it has been replaced, and is being removed
            for name in ("one", "two"):
                with open(os.open(name, os.O_RDONLY, dir_fd=descriptor)) as file:
                    texts.add(file.read())
        os.close(descriptor)
        return texts

    one(0)
    looks: list[set[str]] = []
    for _ in range(ROUNDS):  # until more than one has been seen: a busy accelerator may let us look at the end only
        with ThreadPoolExecutor(8) as pool:
            done = [pool.submit(one, number) for number in range(1, 25)]
            while not all(job.done() for job in done):
                looks.append(seen())
                time.sleep(0.001)
            for job in done:
                job.result()
        if len(set().union(*looks)) > 1:
            break
    assert all(len(texts) <= 1 for texts in looks) and len(set().union(*looks)) > 1
    assert len(set(contents(target).values())) == 1 and set(contents(target)) == {"one", "two"}
    assert {path.name for path in tmp_path.iterdir()} == {"run", ".lock"}


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "run"
    code = (
        f"import os, signal, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path; from eyrie.runtime.folders import replacing\n"
        f"with replacing(Path({str(target)!r})) as own:\n"
        "    (own / 'half').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert not target.exists() and any(path.name.startswith(".run") for path in tmp_path.iterdir())
    with replacing(target) as other, replacing(target) as own:  # the folder of a living process stays
        fill(own, "new")
        fill(other, "newer")
    assert contents(target) == {"one": "newer", "two": "newer"}
    assert {path.name for path in tmp_path.iterdir()} == {"run", ".lock"}


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    target.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), whole_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"before" and files(tmp_path) == {"out.bin"}
    with whole_file(target) as file:
        file.write(b"after")
    assert target.read_bytes() == b"after" and files(tmp_path) == {"out.bin"}


def test_a_file_of_any_name_that_there_can_be(tmp_path: Path) -> None:
    with whole_file(tmp_path / ("x" * 255)) as file:
        file.write(b"x")
    assert files(tmp_path) == {"x" * 255}


@pytest.mark.parametrize("place", ["nowhere/x", "file/x", "folder"])
def test_places_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=f"^{tmp_path / place}: cannot be written \\("), whole_file(tmp_path / place):
        pass
    assert files(tmp_path) == {"file", "folder"}
    rejected = pytest.raises(ValueError, match=f"^{tmp_path / 'file'}: cannot be written")
    with rejected, replacing(tmp_path / "file" / "x"):
        pass


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"out: cannot be written \(No space left on device\)"):
        with whole_file(tmp_path / "out") as file:
            with open("/dev/full", "wb", buffering=0) as full:
                file.write(b"part")
                full.write(b"x")
    assert not files(tmp_path)


def test_a_full_disk_is_said_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{tmp_path / 'run'}: cannot be written \(No space left on device\): make"):
        with replacing(tmp_path / "run"), open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")
    assert files(tmp_path) == {".lock"}
