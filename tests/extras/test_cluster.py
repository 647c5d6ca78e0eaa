# SPDX-License-Identifier: Apache-2.0
"""Campaigns on a Dask cluster of two worker processes on this computer."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Task
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from tests.commands import campaign_tasks
from tests.commands.campaign_tasks import echoes
from tests.commands.commands import assert_rejected, eyrie

distributed = pytest.importorskip("distributed", reason="make extra-cluster")

pytestmark = pytest.mark.extra("cluster")


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a scheduler, whose workers have another folder of results than this process."""
    monkeypatch.setenv("EYRIE_BUILD", str(tmp_path / "workers"))
    monkeypatch.setattr(folders, "BUILD", tmp_path / "client")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def run(folder: Path, tasks: list[Task], scheduler: str | None) -> tuple[list[dict | None], list[dict]]:
    told: list[dict] = []
    return engine.Campaign("test", time.time() + 60, 2, scheduler).run(tasks, folder, told.append), told


def test_order_and_files(scheduler: str, tmp_path: Path) -> None:
    go = {"file": str(tmp_path / "go")}
    tasks = [
        Task("slow", campaign_tasks.wait, go, ""),
        *echoes("one", "bad"),
        Task("go", campaign_tasks.touch, go, ""),
    ]
    entries, told = run(tmp_path, tasks, scheduler)
    assert told == entries and [entry["value"] for entry in told] == ["waited", "one", "bad", "touched"]
    assert (tmp_path / "1-one" / "log.txt").read_bytes() == b"one"


def test_a_killed_worker(scheduler: str, tmp_path: Path) -> None:
    """Another worker does its task."""
    dying = Task("dying", campaign_tasks.die, {"file": str(tmp_path / "died"), "times": 1}, "")
    entries, _ = run(tmp_path, [*echoes("one"), dying, *echoes("two")], scheduler)
    assert [entry and entry["value"] for entry in entries] == ["one", "survived", "two"]


def test_a_task_that_kills_every_worker(scheduler: str, tmp_path: Path) -> None:
    dying = Task("dying", campaign_tasks.die, {"file": str(tmp_path / "died"), "times": 99}, "")
    with pytest.raises(InputError, match="a task ended 4 workers .*: look at the log of the worker tcp:"):
        run(tmp_path, [dying], scheduler)


def test_an_error_cancels_the_rest(scheduler: str, tmp_path: Path) -> None:
    marks = [Task(str(n), campaign_tasks.touch, {"file": str(tmp_path / f"mark{n}")}, "") for n in range(40)]
    with pytest.raises(InputError, match="it fails"):
        run(tmp_path, [Task("bad", campaign_tasks.fail, {}, ""), *marks], scheduler)
    assert len(list(tmp_path.glob("mark*"))) < 20


def test_no_worker_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "client")
    monkeypatch.setenv("EYRIE_BUILD", str(tmp_path / "workers"))
    monkeypatch.setattr(engine, "NO_WORKER_S", 1)
    stay = Task("stay", campaign_tasks.stay, {"file": str(tmp_path / "stays")}, "")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        ThreadPoolExecutor(1) as pool,
    ):
        ran = pool.submit(run, tmp_path, [stay], cluster.scheduler_address)
        while not (tmp_path / "stays").exists():
            time.sleep(0.1)
        cluster.scale(0)
        with pytest.raises(InputError, match="test: no worker is left: start some, and run it again to continue"):
            ran.result()


def test_a_campaign_gives_the_local_results(scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed lines and the page are equal byte for byte."""
    made = []
    for where in (["--scheduler", scheduler], []):
        ended = eyrie("study", "--texts", "fusion,library", "--page", tmp_path / "page.md", *where)
        assert ended.returncode == 0, ended.stderr
        made.append((ended.stdout, (tmp_path / "page.md").read_text()))
        monkeypatch.setattr(folders, "BUILD", tmp_path / "local")
    assert made[0] == made[1] and "numbers agree" in made[0][0]


def test_no_scheduler(tmp_path: Path) -> None:
    ended = eyrie("sizes", "--scheduler", "tcp://127.0.0.1:9")
    assert_rejected(ended, "eyrie sizes: --scheduler tcp://127.0.0.1:9: no Dask scheduler answers: start one with")


def test_no_worker(tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        ended = eyrie("sizes", "--scheduler", cluster.scheduler_address)
    assert_rejected(ended, f"eyrie sizes: --scheduler {cluster.scheduler_address}: no worker: start some with")
