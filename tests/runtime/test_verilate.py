# SPDX-License-Identifier: Apache-2.0
"""Building models: progress, folders of any name, interrupted builds, places that cannot be written."""

import os
import re
from pathlib import Path
from typing import IO

import pytest

from eyrie.runtime import progress
from eyrie.runtime.cached_folders import MANIFEST
from eyrie.runtime.simulator import verilate
from eyrie.runtime.simulator.verilate import build_model, building
from eyrie.runtime.simulator.verilator import BuildError

FIFO = {"WIDTH": 3, "DEPTH": 2}


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    """An empty folder that models go to."""
    folder = tmp_path / "models"
    monkeypatch.setattr(verilate, "MODELS", folder)
    return folder


@pytest.fixture
def calls(monkeypatch) -> list[tuple[int, int]]:
    """What the builds say of how far they are."""
    found = []
    monkeypatch.setattr(progress.Task, "at", lambda self, done, total: found.append((done, total)))
    return found


@pytest.mark.parametrize("name", [pytest.param("plain", marks=pytest.mark.regress), "with space, it's $HOME"])
def test_builds_in_any_folder_and_counts_files(name, tmp_path, calls, monkeypatch) -> None:
    monkeypatch.setattr(verilate, "MODELS", tmp_path / name)
    monkeypatch.setattr(verilate, "_POLL_S", 0.02)
    monkeypatch.setenv("EYRIE_OPT", "-CFLAGS -O0")  # Verilator's own library, too, is built there
    model = build_model("fifo", FIFO)
    assert os.access(model, os.X_OK) and {path.name for path in model.parent.iterdir()} == {"model", MANIFEST}
    assert not building()
    log = next((tmp_path / name).glob("*.log")).read_text()
    compilations = len(re.findall(r"^.* -c .*\.cpp$", log, re.MULTILINE))
    assert calls[0][0] == 0 and {files for _, files in calls} <= {0, compilations}  # it may be fast
    assert calls == sorted(calls) and 0 < calls[-1][0] <= compilations


def test_an_interrupted_build_leaves_no_model(models, monkeypatch) -> None:
    def interrupt(task: progress.Task, done: int, files: int) -> None:
        assert [name.split()[0] for name in building()] == ["fifo"]
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.Task, "at", interrupt)
    with pytest.raises(KeyboardInterrupt):
        build_model("fifo", FIFO)
    assert {path.suffix for path in models.iterdir() if path.name != ".lock"} == {".lock", ".log"}
    assert not building()


def test_a_place_that_cannot_be_written_is_one_line(models) -> None:
    models.write_text("no folder")
    with pytest.raises(ValueError) as caught:
        build_model("fifo", FIFO)
    assert re.fullmatch(rf"{models}.*: cannot be written \(File exists\): .*", str(caught.value))


def test_a_full_disk_is_one_line(models, monkeypatch) -> None:
    def run(command: list[str], environment: object, log: IO[str], *rest: object) -> int:
        print("as: fatal error: Vtop.o: No space left on device\nmake: *** Error 1", file=log, flush=True)
        return 1

    monkeypatch.setattr(verilate, "_run", run)
    monkeypatch.setattr(verilate.tempfile, "gettempdir", lambda: str(models))
    with pytest.raises(BuildError) as caught:
        build_model("fifo", FIFO)
    assert str(caught.value).startswith(f"{models}: cannot be written (No space left on device): ")
    assert "\n" not in str(caught.value)
