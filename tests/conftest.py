# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the seed, the tier, and a line now and then that names the running tests.

`make test` draws few random cases from a fixed seed and leaves out the tests that are marked `regress`; `make regress`
runs everything, with new seeds, in random order, until a budget of minutes is used up.
"""

import os
import random
import signal
import sys
import threading
import time

import pytest

from eyrie.runtime.simulator.verilate import building
from eyrie.testing import samples
from tb.common.seed import run_seed

os.environ.setdefault(samples.VARIABLE, str(samples.QUICK))

SILENCE_S = 8.0
DEADLINE = "EYRIE_DEADLINE"  # time.time() after which no further test begins; `make regress` sets it
PART = "EYRIE_PART"  # "3/8": only the tests 3, 11, 19, ... run; `make regress` sets it


# A shell's background job ignores interrupts, and so would every command that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def repeats() -> str:
    """Return the variables of the environment that repeat this run."""
    scale = "" if samples.scale() == samples.QUICK else f"{samples.VARIABLE}={samples.scale():g} "
    return f"EYRIE_SEED={run_seed()} {scale}"


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"seed: {run_seed()}, random cases: {samples.scale():g} of all (again: {repeats().strip()})"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the tests of a run with a deadline into random order, so that each run reaches others. Leave the tests of
    other parts out."""
    if DEADLINE in os.environ:
        random.Random(run_seed()).shuffle(items)
    part, _, parts = os.environ.get(PART, "0/1").partition("/")
    items[:] = items[int(part) :: int(parts)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > float(os.environ.get(DEADLINE, "inf")):
        pytest.skip("the budget is used up")


@pytest.fixture(scope="session")
def seed() -> int:
    """The run's seed; every random choice comes from it."""
    return run_seed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """A failure ends with the line that repeats it."""
    report = yield
    if report.failed:
        marked = "-m regress " if item.get_closest_marker("regress") else ""
        line = f"{repeats()}.venv/bin/python -m pytest {marked}'{item.nodeid}'"
        report.sections.append(("again", line))
    return report


class Heartbeat:
    """Prints the tests that run and for how long, whenever nothing has been said for some seconds."""

    def __init__(self) -> None:
        self.running: dict[str, float] = {}
        self.said = time.monotonic()
        self.ended = threading.Event()
        # pytest captures the standard streams of the tests: this goes to the real one.
        self.stream = os.fdopen(os.dup(sys.__stderr__.fileno()), "w")

    def pytest_sessionstart(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        self.ended.set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.running.pop(nodeid, None)
        self.said = time.monotonic()

    def _watch(self) -> None:
        while not self.ended.wait(1.0):
            if time.monotonic() - self.said > SILENCE_S:
                self.said = time.monotonic()
                print(f"\n  {self._line()}", file=self.stream, flush=True)

    def _line(self) -> str:
        at = time.monotonic()
        running = [f"{name.rpartition('::')[2]} ({at - start:.0f} s)" for name, start in [*self.running.items()]]
        models = [f"building {name}" for name in building()]
        return ", ".join([*running, *models]) or "collecting tests"


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # the workers' tests are told to the one that started them
        config.pluginmanager.register(Heartbeat(), "heartbeat")
