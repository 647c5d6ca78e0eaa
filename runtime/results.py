# SPDX-License-Identifier: Apache-2.0
"""The results of a network run: its summary and its page."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.ir.image import Image
from eyrie.runtime import progress, report
from eyrie.runtime.back_end import AcceleratorBackEnd, NetworkRun
from eyrie.runtime.metrics import metrics
from eyrie.runtime.reasons.slow import NONE_SUGGESTED, Suggestions
from eyrie.runtime.report.about import About
from eyrie.runtime.simulator.summary import write_summary

REPORT = "report.html"


def network_summary(
    name: str,
    image: Image,
    runs: list[dict],
    seed: int,
    outputs: list[np.ndarray],
    golden: list[np.ndarray] | None = None,
    prediction: Prediction | None = None,
    suggestions: Suggestions = NONE_SUGGESTED,
) -> dict:
    """Return the entries of a network run's summary (docs/reference/summary.md).

    runs     runs of as many images each as the network takes at once: counters, passes, seconds; the metrics are of
             the first run
    outputs  [N, ...] each; golden: the outputs of the golden model, None to compare with no outputs
    """
    compared, answers = comparison(outputs, golden)
    status = "fail" if compared["mismatches"] else "pass"
    found = metrics(image, runs[0]["counters"], runs[0]["passes"], prediction, suggestions)
    seconds = round(sum(run["seconds"] for run in runs), 2)
    return {
        "test": name,
        "status": status,
        "seed": seed,
        "seconds": seconds,
        "runs": len(runs),
        **compared,
        **found,
        **answers,
    }


def comparison(outputs: list[np.ndarray], golden: list[np.ndarray] | None) -> tuple[dict[str, int], dict[str, object]]:
    """Return the counts of a summary, and the answers for the first image from the first output.

    The arguments are as in `network_summary`.
    """
    answers: dict[str, object] = {"class": int(outputs[0][0].argmax())}
    if golden is None:
        return {"comparisons": 0, "mismatches": 0}, answers
    wrong = sum(int((made != wanted.reshape(made.shape)).sum()) for made, wanted in zip(outputs, golden, strict=True))
    answers |= {"golden_class": int(golden[0][0].argmax()), "match": not wrong}
    return {"comparisons": sum(wanted.size for wanted in golden), "mismatches": wrong}, answers


def _parts_summary(
    name: str, done: NetworkRun, seed: int, golden: list[np.ndarray] | None, suggestions: Sequence[Suggestions]
) -> dict:
    """Do the same as `network_summary` for a network with CPU fallback that ran on the RTL."""
    compared, answers = comparison(done.outputs, golden)
    parts = [
        metrics(part.image, part.runs[0]["counters"], part.runs[0]["passes"], part.prediction, suggested)
        for part, suggested in zip(done.accelerator, suggestions, strict=True)
    ]
    seconds = round(sum(run["seconds"] for part in done.accelerator for run in part.runs), 2)
    return {
        "test": name,
        "status": "fail" if compared["mismatches"] else "pass",
        "seed": seed,
        "seconds": seconds,
        "cycles": sum(part["cycles"] for part in parts),
        **compared,
        **answers,
        **_of_host(done.network),
        "parts": parts,
    }


def _of_host(network: CompiledNetwork) -> dict[str, object]:
    return {"host_share": network.host_share, "host_operators": list(network.host)}


def reported(
    folder: Path,
    name: str,
    about: About,
    network: CompiledNetwork,
    inputs: list[np.ndarray],
    back_end: AcceleratorBackEnd,
    golden: list[np.ndarray] | None = None,
    suggestions: Sequence[Suggestions] = (),
) -> tuple[NetworkRun, dict, list[str]]:
    """Run a network on the RTL, write summary.json and the reports.

    name: of the test; about: the head of the report; inputs: as in `BackEnd.run`; golden: outputs of the golden model,
    None for no comparison; suggestions: for each program. Return the run, the summary, and the folders of the reports
    in `folder`: itself, or of a split network one for each program.
    """
    done = back_end.run(network, inputs)
    suggestions = suggestions or [NONE_SUGGESTED] * len(done.accelerator)
    about = about.answered([output[0] for output in done.outputs])
    if not network.whole:
        summary = _parts_summary(name, done, back_end.seed, golden, suggestions)
        write_summary(folder / "summary.json", summary)
        return done, summary, _write_part_pages(folder, name, about, done, back_end.seed, suggestions)
    [run] = done.accelerator
    summary = network_summary(
        name, run.image, run.runs, back_end.seed, done.outputs, golden, run.prediction, suggestions[0]
    )
    write_summary(folder / "summary.json", summary)
    write_page(folder, about, run.image, summary, run.runs[0]["passes"], run.prediction)
    return done, summary, ["."]


def _write_part_pages(
    folder: Path, name: str, about: About, done: NetworkRun, seed: int, suggestions: Sequence[Suggestions]
) -> list[str]:
    """Write the page of each subgraph of the accelerator; return the names of their folders."""
    names = []
    for number, (part, suggested) in enumerate(zip(done.accelerator, suggestions, strict=True)):
        own = folder / f"report{number}"
        own.mkdir()
        outputs = list(part.outputs.values())
        found = network_summary(
            name, part.image, part.runs, seed, outputs, prediction=part.prediction, suggestions=suggested
        )
        write_page(
            own,
            replace(about, title=f"{about.title}, accelerator part {number + 1} of {len(done.accelerator)}"),
            part.image,
            found | _of_host(done.network),
            part.runs[0]["passes"],
            part.prediction,
        )
        names.append(own.name)
    return names


def report_line(folder: Path) -> str:
    """Return a line with the path of a run's page, relative to the current folder."""
    return f"report: {os.path.relpath(folder / REPORT)}"


def write_page(
    folder: Path,
    about: About,
    image: Image,
    metrics: dict,
    passes: list[dict],
    prediction: Prediction | None = None,
) -> None:
    """Write report.html and its plots to a folder; `passes` has the counters at the end of each pass."""
    with progress.task("writing the report"):
        report.write(folder, about, image, metrics, passes, prediction)
