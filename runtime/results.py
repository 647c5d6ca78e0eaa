# SPDX-License-Identifier: Apache-2.0
"""What a network run leaves: its summary and its page."""

import json
from pathlib import Path

import numpy as np

from compiler.files import whole_file
from compiler.image import Image
from runtime import progress, report
from runtime.figures import figures

REPORT = "report.html"


def write_summary(folder: Path, summary: dict) -> None:
    """summary.json in a folder. Raises ValueError, in one line, if it cannot be written."""
    with whole_file(folder / "summary.json") as file:
        file.write(json.dumps(summary, indent=1).encode() + b"\n")


def network_summary(name: str, image: Image, run: dict, seed: int, outputs: np.ndarray,
                    golden: np.ndarray | None = None) -> dict:
    """The entries of a network run's summary (docs/summary.md).

    run      of tb.net.requests: counters, passes and seconds
    outputs  int8 [N, H, W, C]; golden: what the golden model gives, None where there is none to compare with
    """
    compared = {"comparisons": 0, "mismatches": 0}
    answers: dict[str, object] = {"class": int(outputs[0].argmax())}
    if golden is not None:
        wrong = int((golden != outputs).sum())
        compared = {"comparisons": golden.size, "mismatches": wrong}
        answers |= {"golden_class": int(golden[0].argmax()), "match": not wrong}
    status = "fail" if compared["mismatches"] else "pass"
    found = figures(image, run["counters"], run["passes"])
    return {"test": name, "status": status, "seed": seed, "seconds": round(run["seconds"], 2), **compared, **found,
            **answers}


def write_page(folder: Path, title: str, image: Image, figures: dict, passes: list[dict]) -> None:
    """report.html and its pictures in a folder; passes: the counters at the end of each."""
    with progress.task("writing the report"):
        report.write(folder, title, image, figures, passes)
