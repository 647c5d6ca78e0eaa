# SPDX-License-Identifier: Apache-2.0
"""A campaign: tasks within a time budget, on local processes or a Dask cluster.

A result is stored under a digest of everything that it depends on (store.py). A campaign that was interrupted or ran
out of time continues when it runs again. Results have the order of the tasks, whichever worker is faster.
"""

import argparse
import os
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.command_line import minutes, whole_number
from eyrie.compiler.files import write_all
from eyrie.measure import Entry
from eyrie.measure.campaigns import executors
from eyrie.measure.campaigns.junit import report
from eyrie.measure.campaigns.store import Store
from eyrie.measure.campaigns.task import SCALE, Result, Task, perform, sources_digest
from eyrie.model.errors import InputError

MAX_LOST = 3  # deaths of local workers without a result between them
POLL_S = 1.0
NO_WORKER_S = 60  # after which a campaign without a worker ends
LAST_SEED = 1_000_000  # of the first run


def add_arguments(parser: argparse.ArgumentParser, budget: int = 60) -> None:
    """Add the arguments that all campaigns have."""
    parser.add_argument(
        "--budget",
        type=minutes,
        default=budget,
        metavar="MINUTES",
        help=f"time after which no task begins ({budget})",
    )
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="N", help="local processes (2)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers do the tasks")


def add_seed_arguments(parser: argparse.ArgumentParser, runs: str) -> None:
    """Add the arguments of a campaign of random runs. runs: what has a seed, in the help"""
    parser.add_argument("--seeds", type=whole_number(1, 1000), default=1, metavar="N", help=f"number of {runs} (1)")
    parser.add_argument(
        "--seed",
        type=whole_number(0, LAST_SEED),
        metavar="N",
        help="seed of the first one; each of the others has the next seed (random)",
    )


def seeds(options: argparse.Namespace) -> list[int]:
    """Return the seeds that the options of add_seed_arguments describe."""
    first = secrets.randbelow(LAST_SEED + 1) if options.seed is None else options.seed
    return list(range(first, first + options.seeds))


@dataclass(frozen=True)
class Campaign:
    """A campaign.

    name       of its command
    end        time.time() after which no task begins
    jobs       local processes
    scheduler  address of a Dask scheduler, or None for local processes
    """

    name: str
    end: float
    jobs: int = 2
    scheduler: str | None = None

    @classmethod
    def of(cls, name: str, options: argparse.Namespace) -> "Campaign":
        """Return the campaign that the options of add_arguments describe."""
        return cls(name, time.time() + 60 * options.budget, options.jobs, options.scheduler)

    def run(self, tasks: list[Task], folder: Path, tell: Callable[[Entry], None]) -> list[Entry | None]:
        """Return the entries of the tasks in order, None for tasks that do not begin within the budget.

        `tell` is called with each entry, in order. Stored results are used whatever the budget is. The folder gets
        junit.xml, and the files of each new result in NUMBER-NAME. Each failure is printed with the command that
        repeats it. Raise InputError if a result cannot be stored or if workers die repeatedly.
        """
        from eyrie.runtime.folders import BUILD, shortened

        sources = sources_digest()
        store, keys = Store(BUILD / "results.sqlite"), [task.key(sources) for task in tasks]
        found = [None if entry is None else Result(entry) for entry in store.get(keys)]
        told = _InOrder(tell)
        for number, result in enumerate(found):
            if result:
                told.add(number, result)
        for number, result in self._results({n: task for n, task in enumerate(tasks) if not found[n]}, sources):
            found[number] = result
            if result:
                if result.failure is None and sources_digest() == sources:  # the files did not change meanwhile
                    store.put(keys[number], tasks[number].name, result.entry)
                if result.files:
                    write_all(folder / f"{number}-{shortened(tasks[number].name).replace('/', '-')}", result.files)
            told.add(number, result)
        report(self.name, folder / "junit.xml", tasks, found)
        return [result.entry if result else None for result in found]

    def _results(self, tasks: dict[int, Task], sources: str) -> Iterator[tuple[int, Result | None]]:
        """Yield the results by number, as they come. The tasks of a local worker that dies are done again."""
        from eyrie.runtime import progress

        if not tasks:
            return
        left, lost, began = dict(tasks), 0, time.monotonic()
        with progress.task(self.name, "tasks") as shown:
            while left:
                shown.at(len(tasks) - len(left), len(tasks))
                try:
                    with executors.cluster(self.scheduler) if self.scheduler else executors.local(self.jobs) as workers:
                        for number, result in self._as_they_come(workers, dict(left), sources):
                            del left[number]
                            lost = 0
                            done = len(tasks) - len(left)
                            rest_s = (time.monotonic() - began) / done * len(left)
                            rest = f"{rest_s:.0f} s" if rest_s < 120 else f"{rest_s / 60:.0f} minutes"
                            shown.at(done, len(tasks), f"about {rest} left")
                            yield number, result
                except BrokenProcessPool:
                    lost += 1
                    if lost == MAX_LOST:
                        raise InputError(
                            f"{self.name}: worker processes died {lost} times in turn (is memory short?): "
                            "run it again with fewer --jobs to continue"
                        ) from None

    def _as_they_come(
        self, workers: executors.Workers, tasks: dict[int, Task], sources: str
    ) -> Iterator[tuple[int, Result | None]]:
        """Yield the results of tasks. Twice as many tasks as workers are under way. Raise InputError if all workers
        are gone."""
        waiting, futures, seen = list(tasks.items())[::-1], dict[Future, int](), time.monotonic()
        while waiting or futures:
            count = workers.count()
            seen = time.monotonic() if count else seen
            if time.monotonic() - seen > NO_WORKER_S:
                raise InputError(f"{self.name}: no worker is left: start some, and run it again to continue")
            while waiting and len(futures) < 2 * count:
                number, task = waiting.pop()
                scale = os.environ.get(SCALE, "")
                futures[workers.executor.submit(perform, task, sources, self.end, scale)] = number
            if not futures:
                time.sleep(POLL_S)
            done, _ = wait(futures, POLL_S, FIRST_COMPLETED)
            for future in done:
                yield futures.pop(future), future.result()


class _InOrder:
    """Pass on the entries of results in the order of their numbers; None is skipped."""

    def __init__(self, tell: Callable[[Entry], None]) -> None:
        self._tell, self._next = tell, 0
        self._waiting: dict[int, Result | None] = {}

    def add(self, number: int, result: Result | None) -> None:
        self._waiting[number] = result
        while self._next in self._waiting:
            ready = self._waiting.pop(self._next)
            self._next += 1
            if ready:
                self._tell(ready.entry)


def left_line(left: list[str]) -> str:
    """Return the line that reports a used-up budget."""
    return f"the budget is used up, {len(left)} left: {', '.join(left)}; run it again to continue"
