"""Prints what there is to say about speed, and writes build/bench/summary.json (keys: docs/summary.md).

    python scripts/bench.py [--parts A,B] [--budget MINUTES]

Runs the shipped network on the demo photo on the RTL in its default configuration, then the parts; a part
does not begin when the budget is used up. Exit code 1 unless all results equal the golden model's.
"""

import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from compiler.command_line import Parser  # noqa: E402
from compiler.cost import predict  # noqa: E402
from compiler.image import Image  # noqa: E402
from compiler.pipeline import compile_network  # noqa: E402
from model.config import DEFAULT, MachineConfig  # noqa: E402
from run_net import FAILURES, on_rtl  # noqa: E402
from tb.catalogue import find  # noqa: E402
from tb.common.runner import simulate  # noqa: E402
from tb.net import report  # noqa: E402
from tb.net.bench import WIDE  # noqa: E402
from tb.net.demo_net import MODEL, demo_input  # noqa: E402
from tb.sim import native  # noqa: E402

OUT = ROOT / "build" / "bench"
SEED = 1
COST_LAYERS = 60
SPEED_RUNS = 5  # of which the fastest counts: the host may have other work


@dataclass(frozen=True)
class Run:
    """A network's run on the RTL.

    folder   the compiled network
    outputs  int8 [N, H, W, C]
    golden   of the golden model
    figures  of report.figures
    seconds  wall-clock time of the simulation, from start to interrupt
    """

    folder: Path
    image: Image
    values: np.ndarray
    outputs: np.ndarray
    golden: np.ndarray
    figures: dict
    seconds: float

    @property
    def summary(self) -> dict:
        """The entries of a summary."""
        wrong = int((self.golden != self.outputs).sum())
        return {"comparisons": self.golden.size, "mismatches": wrong, **self.figures,
                "class": int(self.outputs[0].argmax()), "golden_class": int(self.golden[0].argmax()),
                "match": not wrong}


def run_network(name: str, machine: MachineConfig = DEFAULT, photos: np.ndarray | None = None) -> Run:
    """Compiles the shipped network for a machine and runs it on the demo photo, or on several at once."""
    print(f"{name}: compiling, simulating (a new model is built first, a few minutes) ...", flush=True)
    values = demo_input()[None] if photos is None else photos
    stages = compile_network(MODEL, machine, images=len(values))
    folder = OUT / name
    stages.image.save(folder, stages.text)
    outputs, [run] = on_rtl(str(folder), values, SEED)
    golden = stages.graph.run(values)[stages.graph.output.name]
    figures = report.figures(stages.image, run["counters"], run["passes"])
    return Run(folder, stages.image, values, outputs, golden, figures, run["seconds"])


def print_run(title: str, run: Run) -> None:
    figures = run.figures
    print(f"\n{title}: {figures['cycles']:,} cycles, multipliers busy {100 * figures['utilisation']:.1f} %, "
          f"energy {figures['energy_uJ']} uJ\n{report.ratios(figures)}")
    print(f"\n{report.layer_table(figures)}\n\n{report.unit_table(figures)}\n", flush=True)


def batch4(base: Run) -> dict:
    """The network on four images at once: the photo, mirrored, upside down, and both."""
    photo = demo_input()
    run = run_network("batch4", photos=np.stack([photo, photo[:, ::-1], photo[::-1], photo[::-1, ::-1]]))
    print_run("batch 4", run)
    return run.summary


def mult48(base: Run) -> dict:
    """The network on a machine with one multiplier in each PE."""
    run = run_network("mult48", MachineConfig(multipliers=1))
    print_run("48 multipliers", run)
    return run.summary


def bus128(base: Run) -> dict:
    """The network on a machine with a DRAM port and a filter port of 128 bits."""
    run = run_network("bus128", MachineConfig(**WIDE))
    print_run("128-bit ports", run)
    return run.summary


def cost_model(base: Run) -> dict:
    """The cost model against the counters: of the network, and of random layers of a seed never used before."""
    print(f"cost model: {COST_LAYERS} random layers ...", flush=True)
    os.environ["EYRIE_COST_LAYERS"] = str(COST_LAYERS)
    seed = secrets.randbelow(1 << 31)
    run = simulate(find("cost0"), seed, out=OUT / "cost_model", echo=False)
    if "within" not in run:
        raise ValueError(f"the simulation failed ({run.get('reason')}): see {OUT / 'cost_model' / 'log.txt'}")
    predicted = predict(base.image)
    rows = [{"name": cost.name, "predicted": cost.cycles, "measured": row["cycles"]}
            for cost, row in zip(predicted.layers, base.figures["layers"], strict=True)]
    for row in rows:
        error = 100 * (row["predicted"] / row["measured"] - 1)
        print(f"{row['name']:8} {row['predicted']:8,} cycles predicted, {row['measured']:8,} measured, {error:+.2f} %")
    print(f"seed {seed}: {run['within']} of {run['layers']} layers within the bound, "
          f"worst at {run['worst_share_of_bound']} of it", flush=True)
    return {"match": run["status"] == "pass", "seed": seed, "random_layers": COST_LAYERS, "network": rows,
            **{key: run[key] for key in ("layers", "within", "worst_share_of_bound")}}


def speed(base: Run) -> dict:
    """Simulated cycles per second, of the same run from cocotb and from C++, in turn."""
    print("speed: simulating from cocotb and from C++ ...", flush=True)
    cycles, seconds, match = base.figures["cycles"], {"cocotb": [], "cpp": []}, True
    for _ in range(SPEED_RUNS):
        outputs, [run] = on_rtl(str(base.folder), base.values, SEED)
        seconds["cocotb"].append(run["seconds"])
        driven = native.run(base.image, base.values[0], OUT, SEED)
        seconds["cpp"].append(driven.seconds)
        for got, of in ((run["counters"]["CYCLES"], outputs[0]), (driven.cycles, driven.output)):
            match &= got == cycles and bool((of == base.outputs[0]).all())
    figures: dict = {"cycles": cycles, "match": match}
    for driver, times in seconds.items():
        figures[driver] = {"seconds": min(times), "cycles_per_second": round(cycles / min(times))}
    figures["ratio"] = round(figures["cocotb"]["cycles_per_second"] / figures["cpp"]["cycles_per_second"], 3)
    print(f"simulated cycles per second: cocotb {figures['cocotb']['cycles_per_second']:,}, "
          f"C++ {figures['cpp']['cycles_per_second']:,}, ratio {figures['ratio']}, results "
          f"{'equal' if match else 'DIFFER'}", flush=True)
    return figures


PARTS: dict[str, Callable[[Run], dict]] = {
    "batch4": batch4,
    "mult48": mult48,
    "bus128": bus128,
    "cost_model": cost_model,
    "speed": speed,
}


def chosen(text: str) -> list[str]:
    """Names of parts, separated by commas. Raises ValueError, in one line, for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            raise ValueError(f"no part is named {name!r}; known: {', '.join(PARTS)}")
    return names


def run_parts(names: list[str], base: Run, end: float) -> dict[str, dict]:
    """The sections of the parts that began before `end` (time.monotonic). A part that fails says why."""
    sections = {}
    for name in names:
        if time.monotonic() > end:
            print(f"{name}: skipped, the budget is used up", flush=True)
            continue
        try:
            sections[name] = PARTS[name](base)
        except FAILURES as failure:
            print(f"{name}: {failure}", flush=True)
            sections[name] = {"match": False, "reason": str(failure)}
    return sections


def main() -> int:
    parser = Parser(description="Prints what there is to say about speed.")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="A,B", help=", ".join(PARTS))
    parser.add_argument("--budget", type=float, default=60, metavar="MINUTES",
                        help="after which no part begins")
    args = parser.parse_args()
    parts, end = chosen(args.parts), time.monotonic() + 60 * args.budget
    OUT.mkdir(parents=True, exist_ok=True)
    target, unfinished = OUT / "summary.json", OUT / "summary.json.part"
    target.unlink(missing_ok=True)
    base = run_network("batch1")
    print_run("batch 1", base)
    sections = run_parts(parts, base, end)
    passed = all(section["match"] for section in (base.summary, *sections.values()))
    summary = {"test": "bench", "status": "pass" if passed else "fail", "seed": SEED, **base.summary,
               "skipped": [name for name in parts if name not in sections], **sections}
    unfinished.write_text(json.dumps(summary, indent=1))
    unfinished.replace(target)
    print("match" if passed else "MISMATCH")
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FAILURES as failure:
        sys.exit(f"bench: {failure}")
