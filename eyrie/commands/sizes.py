# SPDX-License-Identifier: Apache-2.0
"""Compile and run the bundled network on configurations of many sizes: more memory or wider ports must cost no cycles.

    eyrie sizes [--configs A,B] [--rtl 0|1] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

Each configuration is first compiled, predicted and run on the functional simulator, then (unless --rtl 0) run on the
RTL, with the demo photo. The logits are compared with those of tflite-micro. When the budget is used up, no further run
begins. A configuration that was right is run again only if a file that it depends on has changed. The command prints a
table and leaves summary.json (docs/reference/summary.md) and the logs in build/sizes. The exit code is 1 if a
configuration is wrong, rejected or failed, or costs more cycles than a smaller one.
"""

import argparse
import io
import itertools
import time

from eyrie.compiler.command_line import whole_number
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Task
from eyrie.measure.trials import NOT_OK, ON_RTL, Trial, head, row, summarised, with_ratios
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

ARRAYS = ((3, 4), (6, 4), (6, 8), (6, 16), (9, 8), (12, 8), (12, 14))  # rows, columns
GLB_KIB = (32, 64, 128, 256, 512)
# By name, the parameters that differ from the default configuration's.
CONFIGS: dict[str, dict[str, int]] = {
    **{f"{rows}x{cols}": {"rows": rows, "cols": cols} for rows, cols in ARRAYS},
    **{f"glb{kib}": {"glb_bank_words": 16 * kib} for kib in GLB_KIB if kib != 64},
    **{f"bus{bus}_lanes{lanes}": {"bus_words": bus, "filter_lanes": lanes} for bus, lanes in ((1, 2), (2, 1), (2, 2))},
}
GLBS = ["6x8" if kib == 64 else f"glb{kib}" for kib in GLB_KIB]
# Pairs of configurations: the second has more of one resource, and no less of the others.
PAIRS = (
    *itertools.pairwise(GLBS),
    ("6x8", "bus1_lanes2"),
    ("6x8", "bus2_lanes1"),
    ("bus1_lanes2", "bus2_lanes2"),
    ("bus2_lanes1", "bus2_lanes2"),
)
MEASURED_RISE = 0.003  # that the prediction does not see
COLUMNS = (
    ("multipliers", 11, "multipliers", "{:,}"),
    ("cycles", 9, "cycles", "{:,}"),
    ("predicted", 9, "predicted_cycles", "{:,}"),
    ("error", 7, "prediction_error", "{:+.2%}"),
    ("roofline", 9, "roofline_cycles", "{:,}"),
    ("cycles/", 7, "cycles_over_roofline", "{:.3f}"),
    ("DRAM bytes", 10, "dram_bytes", "{:,}"),
    ("DRAM/", 6, "dram_over_compulsory", "{:.3f}"),
    ("compiled", 9, "compile_cpu_s", "{:.1f} s"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--configs", default="", metavar="A,B", help=f"of {', '.join(CONFIGS)} (all)")
    parser.add_argument("--rtl", type=whole_number(0, 1), default=1, help="0: on the functional simulator only (1)")
    engine.add_arguments(parser)


def chosen(text: str) -> list[str]:
    """Return the configurations that a list of names, separated by commas, selects; all for an empty list. Raise
    InputError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in CONFIGS:
            raise InputError(unknown("configuration", name, CONFIGS))
    return [name for name in CONFIGS if not names or name in names]


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    names, began = chosen(options.configs), time.monotonic()
    width = max(map(len, names))
    print(head("configuration", width, COLUMNS))
    with replacing(BUILD / "sizes") as folder:
        photo = photo_file()
        tasks = [task(name, rtl_macs, photo) for rtl_macs in (0, ON_RTL)[: 1 + options.rtl] for name in names]
        found = engine.Campaign.of("sizes", options).run(
            tasks, folder, lambda entry: print(row(with_ratios(entry), width, COLUMNS), flush=True)
        )
        entries = {entry["file"]: with_ratios(entry) for entry in found if entry}  # the RTL's come last
        left = [each.name for each, entry in list(zip(tasks, found))[-len(names) :] if not entry]
        summary = summarised("sizes", list(entries.values()), time.monotonic() - began)
        summary |= {"left": left, "pairs": compared(entries)}
        if any(entry["status"] != "ok" for entry in entries.values()) or any(
            not pair["met"] for pair in summary["pairs"]
        ):
            summary["status"] = "fail"
        write_summary(folder / "summary.json", summary)
    print(*map(pair_line, summary["pairs"]), sep="\n")
    if left:
        print(engine.left_line(left))
    print(f"{summary['status']}: {len(entries)} of {len(names)} configurations")
    return 0 if summary["status"] == "pass" else 1


def photo_file() -> bytes:
    """Return the demo photo as a file of NumPy."""
    import numpy as np

    from eyrie.testing.demo_net import demo_input

    file = io.BytesIO()
    np.save(file, demo_input()[None])
    return file.getvalue()


def task(name: str, rtl_macs: int, photo: bytes) -> Task:
    """Return the trial of a configuration with the photo."""
    from eyrie.runtime.bundled import MODEL

    trial = Trial(name, (MODEL.name, MODEL.read_bytes()), CONFIGS[name], rtl_macs, input=photo, failing=NOT_OK)
    return trial.task(f"eyrie sizes --configs {name} --rtl {int(rtl_macs > 0)}")


def compared(entries: dict[str, dict]) -> list[dict]:
    """Return for each pair of tried configurations their names, and the relative change of the cycles from the smaller
    to the larger one, predicted and measured (None unless both were run)."""
    found = []
    for smaller, larger in PAIRS:
        one, other = entries.get(smaller), entries.get(larger)
        if one and other and one["predicted_cycles"] and other["predicted_cycles"]:
            predicted = other["predicted_cycles"] / one["predicted_cycles"] - 1
            measured = other["cycles"] / one["cycles"] - 1 if one["on_rtl"] and other["on_rtl"] else None
            met = predicted <= 0 and (measured is None or measured <= MEASURED_RISE)
            found.append(
                {
                    "smaller": smaller,
                    "larger": larger,
                    "predicted": round(predicted, 5),
                    "measured": None if measured is None else round(measured, 5),
                    "met": met,
                }
            )
    return found


def pair_line(pair: dict) -> str:
    measured = "" if pair["measured"] is None else f", measured {pair['measured']:+.2%} (at most {MEASURED_RISE:.1%})"
    return (
        f"{'met' if pair['met'] else 'MISSED':6} from {pair['smaller']} to {pair['larger']}: cycles predicted "
        f"{pair['predicted']:+.3%} (at most 0){measured}"
    )
