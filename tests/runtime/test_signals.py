# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process wait for steps that must not be cut."""

import os
import signal
import subprocess

import pytest

from eyrie.runtime.signals import held
from eyrie.runtime.simulator import processes
from eyrie.runtime.simulator.processes import process


def test_a_signal_waits_for_the_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with held():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("inside")
        steps.append("behind")
    assert steps == ["inside"]


def test_handlers_are_as_they_were() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(ZeroDivisionError), held():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_an_interrupt_while_a_process_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def popen(*arguments: object, **options: object) -> subprocess.Popen:
        started.append(subprocess.Popen(*arguments, **options))
        os.kill(os.getpid(), signal.SIGINT)
        return started[0]

    monkeypatch.setattr(processes, "subprocess", type("Patched", (), {"Popen": staticmethod(popen)}))
    with pytest.raises(KeyboardInterrupt), process(["sleep", "1000"]):
        pytest.fail("the block must not begin")
    assert started[0].returncode == -signal.SIGKILL
