# SPDX-License-Identifier: Apache-2.0
"""What a network run leaves: its summary and its page."""

import os
from pathlib import Path

import numpy as np

from compiler.ir.image import Image
from runtime import progress, report
from runtime.figures import figures

REPORT = "report.html"


def network_summary(name: str, image: Image, runs: list[dict], seed: int, outputs: np.ndarray,
                    golden: np.ndarray | None = None) -> dict:
    """The entries of a network run's summary (docs/summary.md).

    runs     of as many images each as the network takes at once: counters, passes, seconds; figures are the first's
    outputs  int8 [N, H, W, C]; golden: what the golden model gives, None where there is none to compare with
    """
    compared, answers = comparison(outputs, golden)
    status = "fail" if compared["mismatches"] else "pass"
    found = figures(image, runs[0]["counters"], runs[0]["passes"])
    seconds = round(sum(run["seconds"] for run in runs), 2)
    return {"test": name, "status": status, "seed": seed, "seconds": seconds, "runs": len(runs), **compared, **found,
            **answers}


def comparison(outputs: np.ndarray, golden: np.ndarray | None) -> tuple[dict[str, int], dict[str, object]]:
    """The counts of a summary, and its answers to the first image; arguments as of `network_summary`."""
    answers: dict[str, object] = {"class": int(outputs[0].argmax())}
    if golden is None:
        return {"comparisons": 0, "mismatches": 0}, answers
    wrong = int((golden != outputs).sum())
    answers |= {"golden_class": int(golden[0].argmax()), "match": not wrong}
    return {"comparisons": golden.size, "mismatches": wrong}, answers


def report_line(folder: Path) -> str:
    """Where the page of a run is, as seen from here."""
    return f"report: {os.path.relpath(folder / REPORT)}"


def write_page(folder: Path, title: str, image: Image, figures: dict, passes: list[dict]) -> None:
    """report.html and its pictures in a folder; passes: the counters at the end of each."""
    with progress.task("writing the report"):
        report.write(folder, title, image, figures, passes)
