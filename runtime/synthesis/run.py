# SPDX-License-Identifier: Apache-2.0
"""A synthesis run: build/synth with its log, summary and tables."""

import json
import shutil
import time
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime import progress
from eyrie.runtime.folders import BUILD, replacing
from eyrie.runtime.simulator.summary import write_summary
from eyrie.runtime.synthesis import metrics
from eyrie.runtime.synthesis.blocks import BLOCKS, PLACED, TOP
from eyrie.runtime.synthesis.design import Design, find_memories, for_mapping, merged, source_name
from eyrie.runtime.synthesis.jobs import Job, SynthesisError, check_tools
from eyrie.runtime.synthesis.jobs import run as run_jobs
from eyrie.runtime.synthesis.library import Library, liberty, own_gates
from eyrie.runtime.synthesis.mapping import elaboration, mapping
from eyrie.runtime.synthesis.netlist import read
from eyrie.runtime.synthesis.placement import placement

TARGET = BUILD / "synth"
AT_ONCE = 2  # commands: each takes up to 2 GB
SHOWN_PATHS = 15


def synthesise(
    blocks: str, config: AcceleratorConfig, library_file: Path | None, memories: tuple[str, ...], placed: bool
) -> str:
    """Synthesise the blocks into build/synth (log.txt, summary.json, tables.md); return the text to print.

    `blocks` has names separated by commas, empty for all that the accelerator has. Raise InputError, with one line, if
    an argument is wrong or a tool fails.
    """
    names = metrics.chosen(blocks)
    library = own_gates() if library_file is None else liberty(library_file)
    check_tools()
    start = time.monotonic()
    with replacing(TARGET, keep=SynthesisError) as folder, progress.task("synthesising", "steps") as task:
        try:
            found = _synthesised(folder, config, names, library, memories, placed, task)
        finally:
            _clean(folder)
        found = {"test": "synth", "status": "pass", "seconds": round(time.monotonic() - start, 1), **found}
        tables = metrics.markdown(found)
        if found["paths"]:
            tables += f"\n\n{metrics.path_table(found, SHOWN_PATHS)}"
        (folder / "tables.md").write_text(tables + "\n")
        write_summary(folder / "summary.json", found)
    return tables


def _synthesised(
    folder: Path,
    config: AcceleratorConfig,
    chosen: list[str],
    library: Library,
    memories: tuple[str, ...],
    placed: bool,
    task: progress.Task,
) -> dict:
    run_jobs([elaboration(folder, TOP, config)], folder, AT_ONCE, lambda done, what: task.say(what))
    design = merged(json.loads((folder / "elaborated.json").read_text())["modules"], TOP)
    find_memories(design, memories)
    there = set(map(source_name, design.modules))
    names = chosen or [name for name in BLOCKS if name in there]
    kinds = [kind for kind in design.modules if source_name(kind) in names]
    clocks: dict[str, tuple[float | None, str]] = {}
    jobs = [mapping(folder, for_mapping(design, set(BLOCKS)), kinds, library)]
    if placed:
        (folder / "design.json").write_text(json.dumps({"modules": design.modules}))
        jobs += [_placed(folder, design, name, clocks) for name in names if name in PLACED]
    steps = 2 * len(jobs) - 1
    run_jobs(jobs, folder, AT_ONCE, lambda done, what: task.at(done, steps, what))
    task.say("paths")
    mapped = json.loads((folder / "mapped.json").read_text())["modules"]
    netlists = read({name: mapped[name] for name in mapped if name in design.modules}, library, design.memories)
    found = metrics.summary(design, netlists, library, names)
    for name, (rate, reason) in clocks.items():
        found["blocks"][name] |= {"ecp5_fmax_mhz": rate, "ecp5_reason": reason}
    return {"parameters": config.parameters, **found}


def _placed(folder: Path, design: Design, name: str, clocks: dict[str, tuple[float | None, str]]) -> Job:
    return placement(folder, design.modules, name, lambda rate, reason: clocks.update({name: (rate, reason)}))


def _clean(folder: Path) -> None:
    """Remove all files but log.txt, which collects the logs of all tools."""
    with (folder / "log.txt").open("w") as log:
        for path in sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime):
            log.write(f"==== {path.stem}\n{path.read_text(errors='replace')}\n")
    for path in folder.iterdir():
        if path.name != "log.txt":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
