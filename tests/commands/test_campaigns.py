# SPDX-License-Identifier: Apache-2.0
"""eyrie/measure/campaigns, family.py, sizes.py: stored results, budgets, lost workers, metrics and verdicts."""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from eyrie.commands import family, sizes
from eyrie.measure import thresholds, trials
from eyrie.measure.campaigns import engine, executors
from eyrie.measure.campaigns.task import Task
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from tests.commands import campaign_tasks
from tests.commands.campaign_tasks import echoes, in_threads
from tests.commands.commands import eyrie
from tests.commands.test_zoo import convolution

# Of a trial's process, which must not be needed: it kills itself.
DYING = "import os; os.kill(os.getpid(), 9)"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of results. Tasks run in threads, because this process has the folder's name."""
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    return tmp_path / "build"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values of the tasks that began, in order."""
    values: list[str] = []
    monkeypatch.setattr(campaign_tasks, "begin", values.append)
    return values


def summary(build: Path, name: str) -> dict:
    return json.loads((build / name / "summary.json").read_text())


def run(tmp_path: Path, tasks: list[Task], minutes: float = 1, jobs: int = 1) -> tuple[list[dict | None], list[dict]]:
    told: list[dict] = []
    entries = engine.Campaign("test", time.time() + 60 * minutes, jobs).run(tasks, tmp_path, told.append)
    return entries, told


def test_continues_where_the_budget_ended(build: Path, begun: list[str], tmp_path: Path) -> None:
    one, two = echoes("one", "two")
    assert run(tmp_path, [one, two], -1) == ([None, None], []) and not begun
    run(tmp_path, [one])
    entries, told = run(tmp_path, [one, two], -1)
    assert entries == [{"value": "one"}, None] and told == entries[:1] and begun == ["one"]
    entries, told = run(tmp_path, [one, two])
    assert entries == told == [{"value": "one"}, {"value": "two"}] and begun == ["one", "two"]


def test_seeds() -> None:
    """Several random runs have consecutive seeds, too: the first one repeats all."""
    parser = argparse.ArgumentParser()
    engine.add_seed_arguments(parser, "runs")
    assert engine.seeds(parser.parse_args(["--seed", "5", "--seeds", "3"])) == [5, 6, 7]
    first, *others = engine.seeds(parser.parse_args(["--seeds", "4"]))
    assert 0 <= first <= engine.LAST_SEED and others == [first + 1, first + 2, first + 3]


def test_a_failure_is_not_stored(
    build: Path, begun: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is printed with the command that repeats it, and stands in junit.xml."""
    tasks = echoes("good", "bad")
    run(tmp_path, tasks)
    run(tmp_path, tasks)
    assert begun == ["good", "bad", "bad"]
    assert capsys.readouterr().out == 2 * "failed: bad: it is bad; again: eyrie echo bad\n"
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    [good, bad] = suite
    assert not list(good) and bad[0].get("message") == "it is bad" and bad[0].text == "again: eyrie echo bad"
    run(tmp_path, echoes("third"), -1)
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("skipped") == "1"


@pytest.mark.parametrize("change", [{"value": "other"}, {"data": b"other"}, {"more": 2}])
def test_changed_arguments_run_again(build: Path, begun: list[str], tmp_path: Path, change: dict) -> None:
    [task] = echoes("one")
    run(tmp_path, [task])
    run(tmp_path, [replace(task, name="another name", again="another line")])
    assert begun == ["one"]
    run(tmp_path, [replace(task, arguments=task.arguments | change)])
    assert len(begun) == 2


def test_sources_that_change_on_the_way(
    build: Path, begun: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result may be of either state: it is not stored."""
    [one] = echoes("one")
    assert one.key("1") != one.key("2")
    monkeypatch.setattr("eyrie.measure.campaigns.task._own_sources", lambda: "before")
    digests = iter(["before", "after"])
    monkeypatch.setattr(engine, "sources_digest", lambda: next(digests, "before"))
    for _ in range(3):
        run(tmp_path, [one])
    assert begun == ["one", "one"]


def test_a_worker_with_other_sources(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyrie.measure.campaigns.task._own_sources", lambda: "other")
    with pytest.raises(InputError, match="has other sources of Eyrie than this command: install the same version"):
        run(tmp_path, echoes("one"))


def test_order_and_files(build: Path, begun: list[str], tmp_path: Path) -> None:
    """Entries come in the order of the tasks, although the first one is the last to end."""
    tasks = [Task("a/slow", campaign_tasks.wait, {"file": str(tmp_path / "go")}, ""), *echoes("one", "two")]
    entries, told = run(tmp_path, [*tasks, Task("go", campaign_tasks.touch, {"file": str(tmp_path / "go")}, "")], 1, 2)
    assert told == entries and [entry["value"] for entry in told] == ["waited", "one", "two", "touched"]
    assert (tmp_path / "1-one" / "log.txt").read_bytes() == b"one" and not (tmp_path / "0-a-slow").exists()


def own_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give worker processes and this process another folder of results."""
    monkeypatch.setenv("EYRIE_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")


def test_a_killed_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task is done again; what others have done is not. A task that kills each worker ends the campaign."""
    own_build(monkeypatch, tmp_path)
    dying = {"file": str(tmp_path / "died"), "times": 1}
    tasks = [*echoes("one"), Task("dying", campaign_tasks.die, dying, ""), *echoes("two")]
    entries, _ = run(tmp_path, tasks, jobs=2)
    assert [entry and entry["value"] for entry in entries] == ["one", "survived", "two"]
    tasks[1] = Task("dying", campaign_tasks.die, dying | {"times": 9}, "")
    with pytest.raises(InputError, match="test: worker processes died 3 times in turn"):
        run(tmp_path, tasks)


CLIENT = """
import sys, time
from pathlib import Path
from eyrie.measure.campaigns import engine
from eyrie.runtime.signals import clean_up_first
from tests.commands import campaign_tasks as tasks
if __name__ == "__main__":
    clean_up_first()
    folder = Path(sys.argv[1])
    long = [tasks.Task("long", tasks.stay, {"file": str(folder / "stays")}, "")] * 3
    limit = int(sys.argv[2])
    work = [*tasks.echoes(*map(str, range(limit))), *long]
    engine.Campaign("test", time.time() + 60, 1).run(work, folder, lambda entry: print(entry["value"], flush=True))
"""


def client(tmp_path: Path, tasks: int, limit: Callable[[], object] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CLIENT, str(tmp_path), str(tasks)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"EYRIE_BUILD": str(tmp_path / "build")},
        preexec_fn=limit,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: list[str], number: signal.Signals
) -> None:
    """Its workers end too. Their results are stored."""
    with client(tmp_path, 2) as process:
        assert process.stdout and [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
        while not (tmp_path / "stays").exists():
            time.sleep(0.05)
        process.send_signal(number)
    worker = int((tmp_path / "stays").read_text())
    while Path(f"/proc/{worker}").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text().split()[2]:
        time.sleep(0.05)
    assert not list((tmp_path / "build" / "tasks").iterdir())
    own_build(monkeypatch, tmp_path)
    entries, _ = run(tmp_path, echoes("0", "1"), -1)
    assert [entry and entry["value"] for entry in entries] == ["0", "1"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line; what was stored before stays."""
    with client(tmp_path, 1000, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (21_000, 21_000))) as process:
        out, errors = process.communicate()
    done = out.split()
    assert 3 < len(done) < 1000 and process.returncode == 1
    said = errors.splitlines()[-1]
    assert "results.sqlite: cannot be used (" in said and said.endswith("make room there, or set EYRIE_BUILD")
    own_build(monkeypatch, tmp_path)
    entries, _ = run(tmp_path, echoes(*done), -1)
    assert [entry and entry["value"] for entry in entries[:-1]] == done[:-1]


def test_a_damaged_store(build: Path, tmp_path: Path) -> None:
    build.mkdir()
    (build / "results.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="results.sqlite: is damaged .*: remove it, and run the command again"):
        run(tmp_path, echoes("one"))


def test_sizes_of_one_accelerator(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest, model only; then its result is taken again: its process would die."""
    ended = eyrie("sizes", "--configs", "3x4", "--rtl", 0)
    assert ended.returncode == 0, ended.stderr
    [entry] = summary(build, "sizes")["models"]
    assert entry["status"] == "ok" and entry["reference"] == "tflite-micro" and not entry["on_rtl"]
    assert entry["outputs"] == 2 * 10 and entry["multipliers"] == 3 * 4 * 4
    assert entry["cycles"] == entry["predicted_cycles"] > entry["roofline_cycles"] > 0
    assert entry["compile_cpu_s"] > 0 and entry["compile_peak_mib"] > 10
    monkeypatch.setattr(trials, "PROGRAM", (sys.executable, "-c", DYING))
    again = eyrie("sizes", "--configs", "3x4", "--rtl", 0, "--budget", 0)
    assert again.returncode == 0 and again.stdout.splitlines()[1] == ended.stdout.splitlines()[1]
    left = eyrie("sizes", "--configs", "3x4,6x4", "--rtl", 0, "--budget", 0)
    assert left.returncode == 0 and "1 left: 6x4; run it again" in left.stdout
    assert summary(build, "sizes")["left"] == ["6x4"]


def test_family_of_one_network(seed: int, build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the RTL; a convolution stands for the network."""
    monkeypatch.setattr(
        "eyrie.measure.networks.mobilenets.Mobilenet.model",
        lambda network: convolution(np.random.default_rng(seed)),
    )
    monkeypatch.setattr(
        thresholds, "FAMILY_BARS", [thresholds.Bar("most_over_roofline", "<=", 1000, "largest", "make family")]
    )
    ended = eyrie("family", "--networks", "mobilenet_v1_0.25_96")
    found = summary(build, "family")
    [entry] = found["models"]
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert entry["status"] == "ok" and entry["on_rtl"] and entry["outputs"] == 3 * 6 * 6 * 8
    assert entry["prediction_error"] == round(entry["predicted_cycles"] / entry["cycles"] - 1, 5)
    assert found["geometric_mean"] is None and found["most_over_roofline"] == entry["cycles_over_roofline"] > 1
    monkeypatch.setattr(
        thresholds, "FAMILY_BARS", [thresholds.Bar("most_over_roofline", "<=", 1, "largest", "make family")]
    )
    missed = eyrie("family", "--networks", "mobilenet_v1_0.25_96", "--budget", 0)
    assert missed.returncode == 1 and "MISSED largest: " in missed.stdout
    assert summary(build, "family")["status"] == "fail"


def test_family_figures() -> None:
    entries = [
        {"file": name, "status": "ok", "cycles_over_roofline": ratio, "prediction_error": error}
        for name, ratio, error in (("a", 2.0, -0.02), ("b", 0.5, None), ("c", 8.0, 0.01), ("other", 9.0, 0.01))
    ]
    assert family.metrics(entries, set("abc")) == {
        "geometric_mean": 2.0,
        "most_over_roofline": 8.0,
        "searched_over_roofline": 9.0,
        "worst_prediction_error": 0.02,
    }
    wrong = family.metrics([*entries[:2], entries[2] | {"status": "wrong"}], set("abc"))
    assert wrong["geometric_mean"] is None and wrong["most_over_roofline"] == 2.0
    assert wrong["searched_over_roofline"] is None
    assert set(family.metrics([], set("abc")).values()) == {None}
    assert family.metrics(entries[:2], set("ab"))["geometric_mean"] == 1


def entry(predicted: int, measured: int | None = None) -> dict:
    return {"predicted_cycles": predicted, "cycles": measured or predicted, "on_rtl": measured is not None}


@pytest.mark.parametrize(
    ("smaller", "larger", "met"),
    [
        (entry(1000), entry(1000), True),
        (entry(1000), entry(1001), False),
        (entry(1000), entry(900), True),
        (entry(1000, 1000), entry(1000, 1003), True),
        (entry(1000, 1000), entry(1000, 1004), False),
        (entry(1000, 900), entry(1000), True),
    ],
)
def test_larger_costs_no_cycles(smaller: dict, larger: dict, met: bool) -> None:
    [pair] = sizes.compared({"glb32": smaller, "6x8": larger, "9x8": entry(1)})
    assert (pair["smaller"], pair["larger"], pair["met"]) == ("glb32", "6x8", met)
    assert sizes.pair_line(pair).startswith("met" if met else "MISSED")


def test_pairs_have_more_of_one_thing() -> None:
    from eyrie.model.config import AcceleratorConfig

    for smaller, larger in sizes.PAIRS:
        one, other = (AcceleratorConfig(**sizes.CONFIGS[name]).as_dict() for name in (smaller, larger))
        assert [name for name in one if other[name] > one[name]] and all(other[name] >= one[name] for name in one)


def test_a_cluster_without_the_package(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="distributed is not installed: make extra-cluster"):
        engine.Campaign("test", time.time() + 60, 1, "tcp://127.0.0.1:9").run(echoes("one"), tmp_path, print)
