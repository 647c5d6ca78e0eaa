# SPDX-License-Identifier: Apache-2.0
"""The exploration of a space: costs of its points as rows of a table."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.frontend.extra import require
from eyrie.measure import Entry
from eyrie.measure.campaigns.engine import Campaign
from eyrie.measure.exploration import COSTS, costs
from eyrie.measure.exploration.space import Point, Space, rejection
from eyrie.model.errors import InputError
from eyrie.runtime.synthesis.gate_model import gate_equivalents, memory_bits

if TYPE_CHECKING:
    import pandas

ALL = "all models"
SUMMED = ("cycles", "roofline_cycles", "macs", "dram_bytes", "energy_uJ")
SEED = 1  # of the search
ROUND = 8  # points that a search proposes at a time: one number, whatever the number of workers


@dataclass(frozen=True)
class Explored:
    """The results of a space.

    rows  one for each point and model, and for each point one of all models together (ALL): `point` (its number),
          `model`, the values of the axes, `gate_equivalents`, `memory_bits`, the costs of `costs.predicted`, `pareto`
          (whether no other point of the model is at least as good in all of COSTS and better in one), and
          `measured_cycles` (None: not measured)
    """

    space: Space
    rows: list[Entry]

    def frame(self) -> "pandas.DataFrame":
        """Return the rows as a DataFrame, without the layers. The extra `explore` has pandas."""
        rows = [{name: value for name, value in row.items() if name != "layers"} for row in self.rows]
        return require("pandas", "explore").DataFrame(rows)


def explore(path: str | Path, jobs: int = 2, scheduler: str | None = None) -> "pandas.DataFrame":
    """Return the predicted costs of all points of a space as a DataFrame (Explored.rows).

    jobs: local processes; scheduler: address of a Dask scheduler whose workers are used instead. Raise InputError, with
    one line, for a wrong space. A script that calls this function protects its main part by
    `if __name__ == "__main__"`, as each script with local processes.
    """
    space = Space.load(Path(path))
    with TemporaryDirectory() as folder:
        campaign = Campaign("explore", math.inf, jobs, scheduler)
        return Explored(space, evaluate(space, space.points(), campaign, Path(folder))).frame()


def evaluate(space: Space, points: list[Point], campaign: Campaign, folder: Path, again: str = "") -> list[Entry]:
    """Return the rows of points, predicted. The folder gets the files of the campaign; again: the command line. Raise
    InputError if the budget does not last."""
    models = space.contents()
    tasks = [costs.task(name, model, point, again) for point in points for name, model in models.items()]
    entries = _all(campaign, tasks, folder)
    rows: list[Entry] = []
    for number, point in enumerate(points):
        chip = {"gate_equivalents": round(gate_equivalents(point.config)), "memory_bits": memory_bits(point.config)}
        head = {"point": number, **point.values, **chip}
        found = entries[number * len(space.models) : (number + 1) * len(space.models)]
        own = [head | {"model": name} | entry for name, entry in zip(space.models, found)]
        rows += own + ([_together(head, own)] if len(own) > 1 else [])
    for row in rows:
        row["measured_cycles"] = None
    _mark_pareto(rows)
    return rows


def _all(campaign: Campaign, tasks: list[costs.Task], folder: Path) -> list[Entry]:
    entries = campaign.run(tasks, folder, lambda entry: None)
    if left := sum(entry is None for entry in entries):
        raise InputError(f"the budget is used up, {left} of {len(tasks)} tasks left: run it again to continue")
    return [entry for entry in entries if entry is not None]


def _together(head: Entry, rows: list[Entry]) -> Entry:
    """Return the row of all models together: sums."""
    bad = [row for row in rows if row["status"] != "ok"]
    if bad:
        return head | {"model": ALL, "status": "rejected", "reason": f"{bad[0]['model']}: {bad[0]['reason']}"}
    layers = [layer | {"name": f"{row['model']}: {layer['name']}"} for row in rows for layer in row["layers"]]
    sums = {name: round(sum(row[name] for row in rows), 2) for name in SUMMED}
    return head | {"model": ALL, "status": "ok", **sums, "layers": layers}


def _mark_pareto(rows: list[Entry]) -> None:
    """Mark the rows that no other row of the same model dominates."""
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model and row["status"] == "ok"]
        values = np.array([[row[cost] for cost in COSTS] for row in own])
        for row, each in zip(own, values):
            row["pareto"] = not bool(((values <= each).all(1) & (values < each).any(1)).any())


def best(rows: list[Entry], objective: str, most_gates: float | None = None) -> list[Entry]:
    """Return the rows of all models together, or of the only model, by an objective; the best first."""
    last = rows[-1]["model"] if rows else None
    return sorted(
        (
            row
            for row in rows
            if row["model"] == last
            and row["status"] == "ok"
            and (most_gates is None or row["gate_equivalents"] <= most_gates)
        ),
        key=lambda row: (row[objective], row["gate_equivalents"], row["point"]),
    )


def measure(
    space: Space,
    points: list[Point],
    rows: list[Entry],
    numbers: set[int],
    campaign: Campaign,
    folder: Path,
    again: str,
) -> int:
    """Run the models on the RTL at points, by number, and note the cycles in the rows. Return the number of outputs
    that differ from the golden model."""
    models = space.contents()
    pairs = [row for row in rows if row["point"] in numbers and row["model"] in models and row["status"] == "ok"]
    tasks = [costs.task(row["model"], models[row["model"]], points[row["point"]], again, on_rtl=True) for row in pairs]
    entries = _all(campaign, tasks, folder)
    for row, entry in zip(pairs, entries):
        row["measured_cycles"] = entry["measured_cycles"]
    for row in rows:
        if row["model"] == ALL and row["point"] in numbers:
            own = [other["measured_cycles"] for other in pairs if other["point"] == row["point"]]
            row["measured_cycles"] = sum(own) if len(own) == len(space.models) else None
    return sum(entry["mismatches"] for entry in entries)


def search(
    space: Space, count: int, objective: str, most_gates: float | None, tell: Callable[[list[Point]], list[Entry]]
) -> list[Point]:
    """Return `count` points that optuna proposes, each with the results of the earlier ones.

    `tell` returns the rows of points. A point with an illegal configuration counts, but is not returned; so does one
    that is proposed again.
    """
    optuna = require("optuna", "explore")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED, constant_liar=True))
    found: dict[str, Point] = {}
    for first in range(0, count, ROUND):
        trials = [study.ask() for _ in range(min(ROUND, count - first))]
        proposed = [
            space.point({name: trial.suggest_categorical(name, values) for name, values in space.axes.items()})
            for trial in trials
        ]
        legal = _legal(proposed)
        values = _values(legal, tell(list(legal.values())), objective, most_gates)
        for trial, point in zip(trials, proposed):
            if point.name in values:
                study.tell(trial, values[point.name])
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        found |= legal
    return list(found.values())


def _legal(points: list[Point]) -> dict[str, Point]:
    return {point.name: point for point in points if not rejection(point)}


def _values(points: dict[str, Point], rows: list[Entry], objective: str, most_gates: float | None) -> dict[str, float]:
    """Return the objective by the name of the point; gates above the limit count as much worse."""
    names = list(points)
    worse = {row["point"]: max(1.0, row["gate_equivalents"] / most_gates) ** 8 if most_gates else 1.0 for row in rows}
    return {names[row["point"]]: row[objective] * worse[row["point"]] for row in best(rows, objective)}
