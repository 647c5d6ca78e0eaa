# SPDX-License-Identifier: Apache-2.0
"""Explore a design space: predicted cycles, DRAM bytes, energy and gates of models on many configurations.

    eyrie explore SPACE.toml [--objective cycles|dram_bytes|energy_uJ|gate_equivalents] [--gates MGE]
                  [--sample N | --search N] [--rtl N] [--export FILE] [--seed N]
                  [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

SPACE.toml names models, and the values of parameters that are combined (docs/howto/explore.md). All points are
evaluated, or N random ones (--sample), or N that optuna proposes (--search). The gates come from the gate model of the
synthesis page. --rtl runs the best N points on the RTL and compares all outputs with the golden model. Stored results
are used: a killed exploration continues, and points may be added later. The command prints the best points and leaves
summary.json (docs/reference/summary.md) and page.html in build/explore. The page needs the extra explore; without it,
it is left out. The exit code is 1 if an output is wrong.
"""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file
from eyrie.compiler.frontend.extra import require
from eyrie.measure.campaigns import engine
from eyrie.measure.exploration import COSTS
from eyrie.model.errors import InputError

if TYPE_CHECKING:
    from eyrie.measure.exploration.explored import Explored
    from eyrie.measure.exploration.space import Point, Space

BEST = 10  # printed points


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("space", type=file_name, metavar="SPACE.toml", help="design space")
    parser.add_argument("--objective", choices=COSTS, default=COSTS[0], help="order of the points (cycles)")
    parser.add_argument("--gates", type=gates, metavar="MGE", help="most gates, in millions of gate equivalents")
    count = whole_number(1)
    parser.add_argument("--sample", type=count, metavar="N", help="N random points instead of all")
    parser.add_argument("--search", type=count, metavar="N", help="N points that optuna proposes instead of all")
    parser.add_argument("--rtl", type=whole_number(0), default=0, metavar="N", help="best points to run on the RTL (0)")
    parser.add_argument("--export", type=file_name, metavar="FILE", help="write the table as .parquet or .csv")
    parser.add_argument("--seed", type=whole_number(0), default=1, metavar="N", help="seed of --sample (1)")
    engine.add_arguments(parser, 24 * 60)


def gates(text: str) -> float:
    """Return a number of gate equivalents from a text in millions."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of millions above 0")
    return 1e6 * value


def run(options: argparse.Namespace) -> int:
    from eyrie.measure.exploration.explored import Explored, best, evaluate, measure
    from eyrie.measure.exploration.space import Space
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    began, campaign = time.monotonic(), engine.Campaign.of("explore", options)
    _check(options)
    space = Space.load(options.space)
    with replacing(BUILD / "explore") as folder:
        points = chosen(options, space, campaign, folder)
        rows = evaluate(space, points, campaign, folder, again(options))
        order = best(rows, options.objective, options.gates)
        wrong = 0
        if options.rtl:
            (folder / "rtl").mkdir()
            numbers = {row["point"] for row in order[: options.rtl]}
            wrong = measure(space, points, rows, numbers, campaign, folder / "rtl", again(options))
        explored = Explored(space, rows)
        summary: dict[str, object] = {
            "test": "explore",
            "status": "fail" if wrong else "pass",
            "seconds": round(time.monotonic() - began, 2),
            "mismatches": wrong,
            "combinations": space.size,
            "points": len(points),
            "rows": rows,
        }
        write_summary(folder / "summary.json", summary)
        page = _page(explored, folder)
        if options.export:
            _export(explored, options.export)
    print(table(space, order[:BEST]))
    limit = f" with at most {options.gates / 1e6:g} MGE" if options.gates else ""
    counted = f"{len(points)} points of {space.size:,} combinations, {len(order)} of them run all models{limit}"
    print(f"{summary['status']}: {counted}")
    if page:
        print(BUILD / "explore" / "page.html")
    return 1 if wrong else 0


def _check(options: argparse.Namespace) -> None:
    if options.sample and options.search:
        raise InputError("--sample and --search choose points in two ways: give one of them")
    if options.export:
        if options.export.suffix not in (".parquet", ".csv"):
            raise InputError(f"--export {options.export}: give a file .parquet or .csv")
        require("pyarrow" if options.export.suffix == ".parquet" else "pandas", "explore")
        check_file(options.export)
    if options.search:
        require("optuna", "explore")


def chosen(options: argparse.Namespace, space: "Space", campaign: engine.Campaign, folder: Path) -> list["Point"]:
    """Return the points to evaluate."""
    from eyrie.measure.exploration.explored import evaluate, search

    if options.search:
        rounds = iter(range(options.search))

        def tell(points: list["Point"]) -> list[dict]:
            own = folder / "search" / str(next(rounds))
            own.mkdir(parents=True)
            return evaluate(space, points, campaign, own, again(options))

        return search(space, options.search, options.objective, options.gates, tell)
    if options.sample:
        return space.sample(options.sample, options.seed)
    return space.points()


def again(options: argparse.Namespace) -> str:
    """Return the command line."""
    words = ["eyrie", "explore", str(options.space), f"--objective={options.objective}", f"--seed={options.seed}"]
    words += [f"--{name}={value}" for name in ("sample", "search", "rtl") if (value := getattr(options, name))]
    return shlex.join([*words, *([f"--gates={options.gates / 1e6:g}"] if options.gates else [])])


def table(space: "Space", rows: list[dict]) -> str:
    """Return the points as a table."""
    from eyrie.model.messages import aligned

    axes = [name for name, values in space.axes.items() if len(values) > 1]
    head = ["point", *axes, "cycles", "measured", "DRAM bytes", "energy uJ", "MGE", "memory bits", "Pareto"]
    lines = [
        [
            str(row["point"]),
            *(str(row[name]) for name in axes),
            f"{row['cycles']:,}",
            "" if row["measured_cycles"] is None else f"{row['measured_cycles']:,}",
            f"{row['dram_bytes']:,}",
            f"{row['energy_uJ']:,.1f}",
            f"{row['gate_equivalents'] / 1e6:.3f}",
            f"{row['memory_bits']:,}",
            "yes" if row["pareto"] else "",
        ]
        for row in rows
    ]
    return "\n".join(aligned([head, *lines], ()))


def _page(explored: "Explored", folder: Path) -> bool:
    """Write the page; return whether its package is installed."""
    from importlib.util import find_spec

    if find_spec("bokeh") is None:
        return False
    from eyrie.measure.exploration.page import page

    (folder / "page.html").write_text(page(explored))
    return True


def _export(explored: "Explored", path: Path) -> None:
    frame = explored.frame()
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
