# SPDX-License-Identifier: Apache-2.0
"""Run the benchmark: measure cycles, stalls and bytes by layer, and compare them with the thresholds.

    eyrie bench [--parts A,B] [--seeds N] [--seed N] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

The bundled network runs on the demo photo on the RTL in its default configuration; then the parts follow. When the
budget is used up, no further part and no further seed of the cost model begins. The folder build/bench gets the
results (docs/reference/summary.md). The exit code is 0 if all results equal the golden model's and no threshold is
missed (eyrie/measure/thresholds.py).
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from eyrie.compiler.artefact import files
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.image import Image
from eyrie.measure import thresholds
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.model.config import CODED, DEFAULT, WIDE, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import BUILD, checkout, replacing
from eyrie.runtime.metrics import layer_table, ratios, unit_table
from eyrie.runtime.programs import compiled
from eyrie.runtime.report.about import About
from eyrie.runtime.results import report_line, reported
from eyrie.runtime.simulator.simulate import simulate_in
from eyrie.runtime.simulator.summary import write_summary
from eyrie.runtime.soc.runs import RunFailed, on_rtl
from eyrie.testing import samples
from eyrie.testing.catalogue import find
from eyrie.testing.demo_net import demo_input

TARGET = BUILD / "bench"
SEED = 1
COST_BENCHES, COST_LAYERS = ("cost0", "cost1"), 60  # ports of one and of two words; random layers of each run
COST_KEYS = ("test", "seed", "status", "layers", "within", "worst_share_of_bound", "missed", "drawn", "rejected")
DIFFERS = "the results are not the golden model's"
SPEED_RUNS = 5  # of which the fastest counts: the host may have other work


@dataclass(frozen=True)
class Run:
    """A network's run on the RTL.

    out      the folder of all parts
    outputs  int8 [N, H, W, C]
    summary  the entries of summary.json: runtime.metrics, and the comparison with the golden model
    seeds    of the random runs of the cost model, which `campaign` does
    """

    out: Path
    image: Image
    values: np.ndarray
    outputs: np.ndarray
    summary: dict
    seeds: tuple[int, ...] = ()
    campaign: engine.Campaign = field(default_factory=lambda: engine.Campaign("bench", math.inf))


def run_network(
    out: Path,
    name: str,
    config: AcceleratorConfig = DEFAULT,
    photos: np.ndarray | None = None,
) -> Run:
    """Runs the bundled network, compiled for an accelerator, on the demo photo, or on several at once; the folder
    out/name gets log, summary and page."""
    print(f"{name}:", flush=True)
    values = demo_input()[None] if photos is None else photos
    network = files.load(compiled(MODEL, config, len(values)))
    inputs = [values[:, None]]
    golden = golden_outputs(network.signature, inputs)
    folder = out / name
    folder.mkdir()
    about = About(f"MobileNetV1, {name}", MODEL.name)
    done, summary, _ = reported(folder, name, about, network, inputs, Rtl(SEED), golden)
    [run] = done.accelerator
    return Run(out, run.image, values, run.output, summary)


def print_run(title: str, run: Run) -> None:
    metrics = run.summary
    print(
        f"\n{title}: {metrics['cycles']:,} cycles, utilisation {100 * metrics['utilisation']:.1f} %, "
        f"energy {metrics['energy_uJ']} uJ\n{ratios(metrics)}"
    )
    print(f"\n{layer_table(metrics)}\n\n{unit_table(metrics)}\n", flush=True)


def latency100(base: Run) -> dict:
    """The network on a DRAM that answers after 100 cycles."""
    run = run_network(base.out, "latency100", AcceleratorConfig(dram_latency=100))
    print_run("latency 100", run)
    return run.summary


def batch4(base: Run) -> dict:
    """The network on four images at once: the photo, mirrored, upside down, and both."""
    photo = demo_input()
    run = run_network(base.out, "batch4", photos=np.stack([photo, photo[:, ::-1], photo[::-1], photo[::-1, ::-1]]))
    print_run("batch 4", run)
    return run.summary


def mult48(base: Run) -> dict:
    """The network on an accelerator with one multiplier in each PE."""
    run = run_network(base.out, "mult48", AcceleratorConfig(multipliers=1))
    print_run("48 multipliers", run)
    return run.summary


def bus128(base: Run) -> dict:
    """The network on an accelerator with a DRAM port and a filter port of 128 bits."""
    run = run_network(base.out, "bus128", WIDE)
    print_run("128-bit ports", run)
    return run.summary


def codes(base: Run) -> dict:
    """The network on an accelerator with a decoder of coded weights and two filter lanes."""
    run = run_network(base.out, "codes", CODED)
    print_run("coded weights", run)
    return run.summary


def cost_model(base: Run) -> dict:
    """The cost model against the counters: of the network, and of random layers, on ports of one and of two words,
    of all seeds, or as many as the budget allows."""
    tasks = [
        Task(f"{bench}, seed {seed}", cost_run, {"bench": bench, "seed": seed}, _again(bench, seed))
        for seed in base.seeds
        for bench in COST_BENCHES
    ]
    runs = [run for run in base.campaign.run(tasks, base.out, print_cost) if run]
    if len(runs) < len(tasks):
        print(f"cost_model: the budget is used up after {len(runs)} of {len(tasks)} runs", flush=True)
    if not runs:
        return {"match": False, "reason": "the budget is used up"}
    predicted = predict(base.image)
    rows = [
        {"name": cost.name, "predicted": cost.cycles, "measured": row["cycles"]}
        for cost, row in zip(predicted.layers, base.summary["layers"], strict=True)
    ]
    for row in rows:
        error = 100 * (row["predicted"] / row["measured"] - 1)
        print(f"{row['name']:8} {row['predicted']:8,} cycles predicted, {row['measured']:8,} measured, {error:+.2f} %")
    wrong = [f"{run['test']}, seed {run['seed']}: {run['reason']}" for run in runs if run["status"] != "pass"]
    section = {
        "match": not wrong,
        "random_layers": COST_LAYERS,
        "network": rows,
        **{key: sum(run[key] for run in runs) for key in ("layers", "within", "drawn", "rejected")},
        "worst_share_of_bound": max(run["worst_share_of_bound"] for run in runs),
        "runs": [{key: run[key] for key in COST_KEYS} for run in runs],
    }
    print(
        f"cost model: {section['within']} of {section['layers']} layers within the bound, worst at "
        f"{section['worst_share_of_bound']} of it; {section['rejected']} of {section['drawn']} drawn rejected",
        flush=True,
    )
    return section | ({"reason": wrong[0]} if wrong else {})


def cost_run(folder: Path, bench: str, seed: int) -> Result:
    """Run a testbench of the cost model with a seed; the entry is its summary."""
    scale = str(COST_LAYERS / _layers(bench))
    run: dict = simulate_in(folder, find(bench), seed, variables={samples.VARIABLE: scale})
    return Result(
        run, {"log.txt": (folder / "log.txt").read_bytes()}, None if run["status"] == "pass" else run["reason"]
    )


def _again(bench: str, seed: int) -> str:
    return f"{samples.VARIABLE}={COST_LAYERS / _layers(bench)} eyrie sim {bench} --seed {seed}"


def _layers(bench: str) -> int:
    """Return the number of layers of a testbench, at a scale of 1."""
    layers = find(bench).arguments["layers"]
    assert isinstance(layers, int)
    return layers


def print_cost(run: dict) -> None:
    """Print the result of a run. Raise RunFailed if the simulation ended without one."""
    if "within" not in run:
        raise RunFailed(
            f"{run['test']}, seed {run['seed']}: the simulation failed ({run.get('reason')}): see log.txt in {TARGET}"
        )
    print(
        f"{run['test']}, seed {run['seed']}: {run['within']} of {run['layers']} layers within the bound, "
        f"worst at {run['worst_share_of_bound']} of it",
        *run["missed"],
        sep="\n  ",
        flush=True,
    )


def speed(base: Run) -> dict:
    """Simulated cycles per second, of the same run from cocotb and through the driver on a simulated SoC, in turn."""
    print("speed: from cocotb and on the simulated SoC", flush=True)
    cycles, match = base.summary["cycles"], True
    seconds: dict[str, list[float]] = {"cocotb": [], "soc": []}
    folder, bench = base.out / "speed", replace(find("net"), assertions=False)
    folder.mkdir()
    for _ in range(SPEED_RUNS):
        simulated: dict = simulate_in(folder, bench, SEED)
        match &= simulated["status"] == "pass" and simulated["simulated_cycles"] == cycles
        seconds["cocotb"].append(simulated["simulated_seconds"])
        done = on_rtl(base.image, base.values, SEED)
        match &= done.runs[0]["counters"]["CYCLES"] == cycles and bool((done.output == base.outputs).all())
        seconds["soc"].append(done.runs[0]["seconds"])
    metrics: dict = {"cycles": cycles, "match": match}
    for way, times in seconds.items():
        metrics[way] = {"seconds": min(times), "cycles_per_second": round(cycles / min(times))}
    metrics["ratio"] = round(metrics["cocotb"]["cycles_per_second"] / metrics["soc"]["cycles_per_second"], 3)
    print(
        f"simulated cycles per second: cocotb {metrics['cocotb']['cycles_per_second']:,}, "
        f"simulated SoC {metrics['soc']['cycles_per_second']:,}, ratio {metrics['ratio']}, results "
        f"{'equal' if match else 'DIFFER'}",
        flush=True,
    )
    return metrics


PARTS: dict[str, Callable[[Run], dict]] = {
    "latency100": latency100,
    "batch4": batch4,
    "mult48": mult48,
    "bus128": bus128,
    "codes": codes,
    "cost_model": cost_model,
    "speed": speed,
}


def chosen(text: str) -> list[str]:
    """Names of parts, separated by commas. Raises InputError, in one line, for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            raise InputError(unknown("part", name, PARTS))
    return names


def run_parts(names: list[str], base: Run) -> dict[str, dict]:
    """The sections of the parts that began within the budget. A part that fails says why."""
    sections = {}
    for name in names:
        if time.time() > base.campaign.end:
            print(f"{name}: skipped, the budget is used up", flush=True)
            continue
        try:
            sections[name] = PARTS[name](base)
        except (OSError, InputError) as failure:
            print(f"{name}: {failure}", flush=True)
            sections[name] = {"match": False, "reason": str(failure)}
    return sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", default=",".join(PARTS), metavar="A,B", help=", ".join(PARTS))
    engine.add_seed_arguments(parser, "runs of each random test bench of cost_model")
    engine.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    checkout("the testbenches")
    parts, campaign = chosen(options.parts), engine.Campaign.of("bench", options)
    with replacing(TARGET, keep=RunFailed) as out:
        base = replace(run_network(out, "batch1"), seeds=tuple(engine.seeds(options)), campaign=campaign)
        print_run("batch 1", base)
        sections = run_parts(parts, base)
        skipped = [name for name in PARTS if name not in sections]
        summary = base.summary | {"test": "bench", "skipped": skipped, **sections}
        results = thresholds.judged(summary, set(skipped))
        passed = report_verdict(summary, sections, results)
        write_summary(
            out / "summary.json",
            summary | {"status": "pass" if passed else "fail", "bars": thresholds.entries(results)},
        )
    print(report_line(TARGET / "batch1"))
    return 0 if passed else 1


def report_verdict(
    summary: dict, sections: dict[str, dict], results: list[tuple[thresholds.Bar, float | None]]
) -> bool:
    """Print the thresholds of the parts that ran, and the faults in the last lines; return whether all is right."""
    for bar, value in results:
        print(bar.line(value))
    wrong = [
        f"{name}: {section.get('reason', DIFFERS)}"
        for name, section in {"batch1": summary, **sections}.items()
        if not section["match"]
    ]
    wrong += [bar.line(value) for bar, value in results if value is None or not bar.met(value)]
    print("\n".join([f"{len(wrong)} wrong:", *wrong]) if wrong else "all results right, no bar missed")
    return not wrong
