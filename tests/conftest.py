# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the seed, printed in the header and with a failure; and a line now and then that says which
tests are running, so that a long one is not taken for a hanging one."""

import os
import signal
import sys
import threading
import time

import pytest

from eyrie.runtime.simulator.verilate import building
from tb.common.seed import run_seed

SILENCE_S = 8.0
FIRST_MINUTES, MINUTES = 8, 5  # of the whole suite on two cores: with simulation models to build, and without


# A shell's background job ignores interrupts, and so would every command that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header(config: pytest.Config) -> list[str]:
    lines = [f"seed: {run_seed()} (from the sources; another: make test SEED=n)"]
    if config.args_source == pytest.Config.ArgsSource.TESTPATHS:
        lines.append(
            f"all tests take about {MINUTES} minutes on two cores, and {FIRST_MINUTES} where the simulation "
            "models have to be built"
        )
    return lines


@pytest.fixture(scope="session")
def seed() -> int:
    """The run's seed; every random choice comes from it."""
    return run_seed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """A failure ends with the line that repeats it."""
    report = yield
    if report.failed:
        line = f"EYRIE_SEED={run_seed()} .venv/bin/python -m pytest '{item.nodeid}'"
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
