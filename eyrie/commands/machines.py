# SPDX-License-Identifier: Apache-2.0
"""Generate random configurations: legal ones must pass the tests, illegal ones must be rejected.

    eyrie machines [--seed N] [--count N] [--pes N] [--only N] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

The configurations cover the table of legal sizes and go beyond its edges. AcceleratorConfig and Verilator's elaboration
of the whole accelerator must agree whether a configuration is legal. On a legal one the testbench pass6 runs all kinds
of passes and compares them with the model. When the budget is used up, no further configuration begins. The folder
build/machines gets summary.json (docs/reference/summary.md) and the log of each legal configuration that ran.
"""

import argparse
from pathlib import Path

from eyrie.compiler.command_line import whole_number
from eyrie.compiler.options import MOST_SEED
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.model.errors import InputError

BENCH = "pass6"
MOST_PES = 240


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=1, help="seed of the configurations (1)")
    parser.add_argument("--count", type=whole_number(1), default=40, metavar="N", help="number of configurations (40)")
    parser.add_argument(
        "--pes",
        type=whole_number(6),
        default=MOST_PES,
        metavar="N",
        help="largest number of PEs of a legal configuration (240)",
    )
    parser.add_argument("--only", type=whole_number(0), metavar="N", help="the configuration of this number only (all)")
    engine.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.folders import BUILD, checkout, replacing
    from eyrie.runtime.simulator.summary import write_summary
    from eyrie.testing.configurations import random_configs

    if options.only is not None and options.only >= options.count:
        raise InputError(f"--only {options.only}: must be 0 to {options.count - 1}, or let --count be larger")
    checkout("the testbenches")
    drawn = random_configs(options.seed, options.count, options.pes)
    numbers = range(len(drawn)) if options.only is None else range(len(drawn))[options.only : options.only + 1]
    tasks = [
        Task(
            str(number),
            judged,
            {"seed": options.seed, "number": number, "sizes": drawn[number]},
            f"eyrie machines --seed {options.seed} --count {options.count} --pes {options.pes} --only {number}",
        )
        for number in numbers
    ]
    with replacing(BUILD / "machines") as folder:
        found = engine.Campaign.of("machines", options).run(tasks, folder, lambda entry: print(line(entry), flush=True))
        skipped = [{"number": number, "config": drawn[number], "verdict": "skipped"} for number in numbers]
        summary = summarised([entry or skip for entry, skip in zip(found, skipped)], options.seed)
        write_summary(folder / "summary.json", summary)
    print(conclusion(summary))
    return 0 if summary["status"] == "pass" else 1


def conclusion(summary: dict) -> str:
    """Return the line that ends the campaign."""
    return (
        f"{summary['status']}: {summary['legal']} of {summary['configs']} configurations are legal, on "
        f"{summary['works']} of these all passes are right; {summary['rejected']} rejected, "
        f"{len(summary['skipped'])} skipped"
    )


def line(found: dict) -> str:
    """Return the line of the table for a configuration."""
    sizes = " ".join(f"{name}={value}" for name, value in found["config"].items())
    return f"{found['number']:3} {found['verdict']:8} {sizes}{': ' * ('reason' in found)}{found.get('reason', '')}"


def judged(folder: Path, seed: int, number: int, sizes: dict[str, int]) -> Result:
    """Return the verdict of both sides on a configuration, and of the testbench on a legal one.

    verdict: "works", "rejected", or "wrong", with the reason
    """
    from eyrie.model.config import AcceleratorConfig
    from eyrie.runtime.simulator.simulate import simulate_in
    from eyrie.testing.catalogue import find
    from eyrie.testing.configurations import disagreement, model_rejection

    def result(verdict: str, reason: str = "", **counts: object) -> Result:
        said = {"reason": reason} if reason else {}
        entry = {"number": number, "config": sizes, "verdict": verdict, **said, **counts}
        log = folder / "log.txt"
        return Result(
            entry, {"log.txt": log.read_bytes()} if log.exists() else {}, reason if verdict == "wrong" else None
        )

    if wrong := disagreement(sizes, "eyrie"):
        return result("wrong", wrong)
    if reason := model_rejection(sizes):
        return result("rejected", reason)
    try:
        ran = simulate_in(folder, find(BENCH).on(AcceleratorConfig(**sizes)), seed)
    except InputError as error:  # of a build
        return result("wrong", str(error))
    counts = {name: ran[name] for name in ("cycles", "comparisons", "mismatches", "seconds")}
    return result("works" if ran["status"] == "pass" else "wrong", str(ran.get("reason") or ""), **counts)


def summarised(results: list[dict], seed: int) -> dict:
    """The entries of summary.json."""
    numbers = {
        verdict: [found["number"] for found in results if found["verdict"] == verdict]
        for verdict in ("works", "rejected", "wrong", "skipped")
    }
    ran = [found for found in results if found["verdict"] == "works"]
    status = "pass" if ran and not numbers["wrong"] else "fail"
    return {
        "test": "machines",
        "status": status,
        "seed": seed,
        "configs": len(results),
        "legal": len([found for found in results if found["verdict"] == "works" or "comparisons" in found]),
        "works": len(ran),
        "rejected": len(numbers["rejected"]),
        "wrong": numbers["wrong"],
        "skipped": numbers["skipped"],
        "cycles": sum(found["cycles"] for found in ran),
        "comparisons": sum(found["comparisons"] for found in ran),
        "values": {name: sorted({found["config"][name] for found in ran}) for name in results[0]["config"]},
        "results": results,
    }
