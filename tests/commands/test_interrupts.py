# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM: a command ends with one line and leaves no process and no folder.

What a test waits for is a condition; the caps only end a run that hangs.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.bundled import MODEL, SMALL_CONFIG
from eyrie.runtime.folders import BUILD, ROOT
from eyrie.runtime.simulator.processes import process
from eyrie.runtime.simulator.sources import sizes_of
from eyrie.runtime.simulator.verilate import build_model
from eyrie.testing.catalogue import find
from tests.commands.transcript import CAP_S

ENDINGS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
MARK = "EYRIE_INTERRUPTED_TEST"  # in the environment of a command, which its children inherit

# Builds the model of a small bench in a folder of its own, so that there is something to interrupt.
BUILDS = """
import sys
from pathlib import Path
from eyrie.runtime.simulator import verilate
from eyrie import command_line
verilate.MODELS = Path(sys.argv[1])
sys.exit(command_line.main(["sim", "fifo0", "--seed", "1"]))
"""


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + CAP_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


def family(mark: str) -> list[str]:
    """Command lines of the processes that a command has started, itself included."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended, or is not ours
            continue
    return [line for line in found if line]


def end(
    command: list[object], ready: Callable[[list[str]], object], number: signal.Signals, mark: str
) -> subprocess.CompletedProcess:
    """Starts a command, sends the signal once it is ready, and waits for its end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment[MARK] = mark
    started = subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until(lambda: started.poll() is not None or ready(family(mark)), "ready to be interrupted")
        assert started.poll() is None, started.communicate()
        started.send_signal(number)
        out, err = started.communicate(timeout=CAP_S)
    finally:
        started.kill()
        started.wait()
    until(lambda: not family(mark), "its processes end")
    return subprocess.CompletedProcess(command, started.returncode, out, err)


def assert_ended(ended: subprocess.CompletedProcess, name: str, code: int, word: str) -> None:
    said = [line for line in ended.stderr.splitlines() if not line.endswith(("...", " s)"))]
    assert (ended.returncode, said) == (code, [f"eyrie {name}: {word}"]), ended.stderr


def test_a_wait_that_was_interrupted() -> None:
    """A signal between the steps of Popen.wait leaves its lock taken: the process is reaped without it."""
    with pytest.raises(KeyboardInterrupt), process(["sleep", "100"]) as child:
        child._waitpid_lock.acquire()  # type: ignore[attr-defined]  # of CPython
        raise KeyboardInterrupt
    assert child.returncode == -signal.SIGKILL


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes in /proc")
class TestInterrupts:
    @pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
    def test_a_simulation(self, number: signal.Signals, code: int, word: str) -> None:
        bench, config = find("net1"), AcceleratorConfig.load(SMALL_CONFIG)
        build_model(bench.top, sizes_of(bench.top, config), bench.sources)
        before = (BUILD / "sim" / "net1").stat().st_ino if (BUILD / "sim" / "net1").exists() else None
        begun: set[Path] = set()
        mark = f"simulation {number}"
        parts = set(BUILD.glob("sim/.net1.own-*"))

        def simulates(processes: list[str]) -> bool:
            begun.update(set(BUILD.glob("sim/.net1.own-*")) - parts)
            return any("/model +verilator" in line for line in processes) and any(
                log.stat().st_size for part in begun for log in part.glob("log.txt")
            )

        ended = end(["-m", "eyrie", "sim", "net1", "--seed", "1", "--config", SMALL_CONFIG], simulates, number, mark)
        assert_ended(ended, "sim", code, word)
        assert begun and not any(part.exists() for part in begun)
        assert before is None or (BUILD / "sim" / "net1").stat().st_ino == before

    @pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
    def test_a_build(self, number: signal.Signals, code: int, word: str, tmp_path: Path) -> None:
        ended = end(
            ["-c", BUILDS, tmp_path / "models"],
            lambda found: any("-f Vtop.mk" in line for line in found),  # it compiles, which takes seconds
            number,
            f"build {number}",
        )
        assert_ended(ended, "sim", code, word)
        assert {path.suffix for path in (tmp_path / "models").iterdir()} <= {".lock", ".log", ""}
        assert not [path for path in (tmp_path / "models").iterdir() if path.is_dir()]

    @pytest.mark.parametrize(("number", "code", "word"), ENDINGS)
    def test_a_compilation(self, number: signal.Signals, code: int, word: str, tmp_path: Path) -> None:
        """While it places the maps, long after it has begun to compile."""
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "layout.json").write_text("before")
        steps = tmp_path / "places"
        lines = (
            "import sys; from pathlib import Path; from eyrie.compiler.plan import search; "
            "from eyrie import command_line\n"
            "place = search.candidates\n"
            f"def begun(*rest): Path({str(steps)!r}).write_text(''); return place(*rest)\n"
            "search.candidates = begun\n"
            "sys.exit(command_line.main(['compile', *sys.argv[1:]]))"
        )
        ended = end(
            ["-c", lines, MODEL, "-o", tmp_path / "out", "--search-iterations", 10_000_000],
            lambda _: steps.exists(),
            number,
            f"compilation {number}",
        )
        assert_ended(ended, "compile", code, word)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["layout.json"]
        assert (tmp_path / "out" / "layout.json").read_text() == "before"
