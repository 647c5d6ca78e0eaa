# SPDX-License-Identifier: Apache-2.0
"""Apply one-line mutations to the RTL and run the testbenches that should find them.

    eyrie mutate [--seed N] [--count N] [--budget MINUTES]

The mutations change operators, conditions, constants and ternary arms, or drop assignments. The seed draws from all of
them, one block after the other. Each mutation is applied to a copy of the tree (build/mutate/tree). The testbenches of
its file run, closest and cheapest first, until one fails; a mutant that all of them pass has survived. A change that
does not build, or that EQUIVALENT lists, is replaced by another one. Results: build/mutate/summary.json.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from eyrie.compiler.command_line import minutes, whole_number
from eyrie.measure.mutations import Candidate, apply, candidates
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.runtime.folders import BUILD, ROOT, checkout, locked
from eyrie.runtime.simulator.summary import write_summary

COPIED = ("eyrie", "rtl", "model", "compiler", "runtime", "tb", "tests", "data")
GENERATED = {"encoding_pkg.sv", "eyrie_pkg.sv", "configuration_check.sv"}

_PE = "pe0 pe1 pe2 pe5 pe3 pe6 pe4"
_SUPER = "super2 super0 super1"
_REQUANT = "requant0 requant1 requant2"
_ARRAY = "array16 array15 array6 array8 array10"
_PASS = "pass1 pass0 pass2 pass7 pass8 pass9 pass3 streams0 pass5 pass4 words1"
_PPU = "ppu5 ppu8 ppu4 ppu1 ppu2 ppu3 ppu0 ppu7 ppu9 ppu6"
_TILE = "tile0 tile1 tile4 tile8 tile5 tile7 tile2 tile3 tile6 tile10 tile9 tile11 tile12"

# Per block, its files (globs below rtl/; the first match counts) and their testbenches in turn.
BLOCKS = {
    "pe": {
        "array/pe.sv": f"{_PE} {_SUPER} array16",
        "arithmetic/dot4.sv": f"{_PE} array16 array17",
        "array/operand_queue.sv": f"{_PE} {_SUPER} array16 streams0",
        "array/psum_buffer.sv": f"{_PE} array16",
    },
    "pe_sequencer": {
        "array/*_sequencer.sv": f"{_PE} {_SUPER} {_ARRAY}",
        "pass/pass_loops.sv": f"{_PE} {_SUPER} {_ARRAY}",
    },
    "requantizer": dict.fromkeys(
        ("arithmetic/requantizer.sv", "arithmetic/rounding_shift.sv", "arithmetic/booth_step.sv"),
        f"{_REQUANT} ppu0 ppu4 {_SUPER}",
    ),
    "super_pe": dict.fromkeys(
        ("array/super_pe.sv", "array/dw_requantizer.sv", "array/dw_broadcaster.sv", "array/word_buffer.sv"),
        f"{_SUPER} array16 array15 pass0 pass2 pass4",
    ),
    "network": dict.fromkeys(
        ("array/network/*.sv", "common/multicast_fork.sv"), f"{_ARRAY} array9 array11 pass0 pass3"
    ),
    "pe_array": {"array/*.sv": f"{_ARRAY} array9 array11 array14 pass0 pass3"},
    "pass": {"pass/descriptor_rules.sv": "rules0 net2", "pass/*.sv": f"{_PASS} net", "streams/*.sv": f"{_PASS} net"},
    "ppu": {
        "ppu/*.sv": f"{_PPU} pass1",
        "arithmetic/square.sv": "ppu4 ppu8",
        "arithmetic/parameter_buffer.sv": f"{_PPU} {_SUPER} pass1 tables0 streams0",
    },
    "glb": {"glb/*.sv": "glb0 glb1 glb2", "tech/*.sv": "glb0 array0 pass0"},
    "bus": {"host/register_file.sv": "reg0 reg1 pins0", "host/performance_counters.sv": "reg1", "bus/*.sv": _TILE},
    "tiling": {"tiling/*.sv": _TILE},
    "common": {
        "common/fifo.sv": "fifo0 fifo3 fifo1 fifo2",
        "common/ram_fifo.sv": "fifo4 fifo7 fifo5 fifo6",
        "common/queue.sv": "fifo6",
        "common/skid_buffer.sv": "skid0 skid1",
        "common/delay_line.sv": "reg1 net",
    },
    "top": {"eyrie_core.sv": f"{_PASS} net", "eyrie.sv": "net"},
}

# Changes without an observable effect: (file, line before, line after) and why.
EQUIVALENT = {
    (
        "rtl/bus/burst_splitter.sv",
        "if (left_q < {6'd0, beats})      beats = left_q[9:0];",
        "if (left_q <= {6'd0, beats})      beats = left_q[9:0];",
    ): "if both are equal, the assignment has no effect",
    (
        "rtl/eyrie.sv",
        "increment = '0;",
        "increment = '1;",
    ): "a default: every counter is assigned below it",
}

# Building takes longer than simulating: let the C++ compiler do little, unless told otherwise.
OPTIMISATION = "-CFLAGS -O0"
CYCLES = 5_000_000  # of a simulation at most: a mutant that hangs is found. The baseline has to keep it, too.

# Runs in the copy, so that its modules are the copy's.
_WORKER = """
import json, sys
from dataclasses import replace
from eyrie.testing.catalogue import find
from eyrie.runtime.simulator.simulate import simulate
from eyrie.runtime.simulator.sources import SourceError
from eyrie.runtime.simulator.verilator import BuildError
name, seed, cycles = sys.argv[1:]
try:
    bench = replace(find(name), cycles=int(cycles))
    result = simulate(bench, int(seed))
except (BuildError, SourceError) as error:
    result = {"status": "no build", "reason": str(error)}
print(json.dumps({key: result.get(key) for key in ("status", "reason")}))
"""


class BaselineError(InputError):
    """A testbench fails without any mutation, so that it cannot judge mutants."""


# ---- The draw ----


def place(file: str) -> tuple[str, tuple[str, ...]]:
    """The block of a file below rtl/, and the testbenches to run for it."""
    for block, files in BLOCKS.items():
        for pattern, simulation_tests in files.items():
            if fnmatchcase(file, f"rtl/{pattern}"):
                return block, tuple(simulation_tests.split())
    raise InputError(f"{file} belongs to no block: add it to BLOCKS")


def by_block(root: Path) -> dict[str, list[Candidate]]:
    """The candidates of every block."""
    found: dict[str, list[Candidate]] = {block: [] for block in BLOCKS}
    for path in sorted((root / "rtl").rglob("*.sv")):
        if path.name not in GENERATED:
            file = str(path.relative_to(root))
            found[place(file)[0]] += candidates(file, path.read_text())
    return found


def draw(blocks: dict[str, list[Candidate]], seed: int) -> Iterator[list[Candidate]]:
    """Yield the candidates of one block after the other, in random order; the caller pops them until one serves.

    Each round takes the blocks in a new order. The position of a candidate depends on the seed and on its text only, so
    that a change elsewhere in the RTL hardly changes the draw.
    """

    def key(candidate: Candidate) -> str:
        text = f"{seed} {candidate.file} {candidate.before} {candidate.after}"
        return hashlib.sha256(text.encode()).hexdigest()

    rng = random.Random(seed)
    left = {block: sorted(found, key=key) for block, found in blocks.items()}
    while any(left.values()):
        for block in rng.sample(list(left), len(left)):
            if left[block]:
                yield left[block]


# ---- The copy ----


def copy_tree(root: Path, tree: Path) -> None:
    """Copy the files that the testbenches need to `tree`, whose build/ stays."""
    for name in COPIED:
        shutil.rmtree(tree / name, ignore_errors=True)
        shutil.copytree(root / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(root / "pyproject.toml", tree)


class Campaign:
    """Run testbenches in the copy."""

    def __init__(self, root: Path, seed: int) -> None:
        self.tree = root / "build" / "mutate" / "tree"
        self.seed = seed
        self.passing: set[str] = set()
        copy_tree(root, self.tree)

    def run(self, bench: str) -> dict[str, str | None]:
        """Status ("pass", "fail", "no build") and reason of one run in the copy as it is."""
        environment = {"EYRIE_OPT": OPTIMISATION} | os.environ | {"PYTHONPATH": str(self.tree)}
        command = [sys.executable, "-c", _WORKER, bench, str(self.seed), str(CYCLES)]
        run = subprocess.run(command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{bench}: the run ended with {run.returncode}")
        return json.loads(run.stdout.splitlines()[-1])

    def check_baseline(self, bench: str) -> None:
        """Raises BaselineError unless the bench passes without a change."""
        if bench not in self.passing:
            result = self.run(bench)
            if result["status"] != "pass":
                raise BaselineError(f"{bench} fails without a change: {result['reason']}")
            self.passing.add(bench)

    def trial(self, candidate: Candidate) -> dict[str, object]:
        """Result ("killed", "survived", "no build") of a candidate, with the bench and its reason."""
        simulation_tests = place(candidate.file)[1]
        path = self.tree / candidate.file
        text = path.read_text()
        models = self.tree / "build" / "models"
        kept = set(models.glob("*"))
        found: dict[str, object] = {"result": "survived", "bench": None, "reason": None}
        killer: str | None = None
        try:
            path.write_text(apply(candidate, text))
            for bench in simulation_tests:
                result = self.run(bench)
                if result["status"] != "pass":
                    killer = bench if result["status"] == "fail" else None
                    found = {"result": "killed" if killer else "no build", "bench": bench, "reason": result["reason"]}
                    break
        finally:
            path.write_text(text)
            for model in set(models.glob("*")) - kept:
                shutil.rmtree(model) if model.is_dir() else model.unlink()
        if killer:
            self.check_baseline(killer)
        return asdict(candidate) | found


def campaign_of(seed: int, count: int, budget_min: float | None) -> dict[str, object]:
    """Tries `count` mutants, or as many as begin within the budget; returns and writes the summary."""
    start = time.monotonic()
    campaign = Campaign(ROOT, seed)
    results: list[dict[str, object]] = []
    for block in itertools.islice(draw(by_block(ROOT), seed), count):
        result = None
        while block and (result is None or result["result"] == "no build"):
            if budget_min is not None and time.monotonic() - start > 60 * budget_min:
                break
            candidate = block.pop(0)
            if (candidate.file, candidate.before, candidate.after) in EQUIVALENT:
                continue
            with progress.task(f"trying {candidate.file}:{candidate.line}"):
                result = campaign.trial(candidate)
            bench = f" by {result['bench']}" if result["bench"] else ""
            print(
                f"{result['result']}{bench}: {candidate.file}:{candidate.line}: "
                f"{candidate.before}  ->  {candidate.after}",
                flush=True,
            )
        if result is not None and result["result"] != "no build":
            results.append(result)
    survivors = [result for result in results if result["result"] == "survived"]
    summary: dict[str, object] = {
        "test": "mutate",
        "status": "pass" if results and not survivors else "fail",
        "seed": seed,
        "seconds": round(time.monotonic() - start, 1),
        "mutants": len(results),
        "killed": len(results) - len(survivors),
        "survivors": len(survivors),
        "results": results,
    }
    write_summary(BUILD / "mutate" / "summary.json", summary)
    return summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(0), default=1, metavar="N", help="seed of the mutations (1)")
    parser.add_argument("--count", type=whole_number(1), default=20, metavar="N", help="number of mutants (20)")
    parser.add_argument("--budget", type=minutes, metavar="MINUTES", help="minutes after which no mutant begins")


def run(options: argparse.Namespace) -> int:
    checkout("the testbenches")
    with ExitStack() as stack:  # one campaign at a time: they plant errors in one tree
        with progress.task("waiting for another campaign"):
            stack.enter_context(locked(BUILD / "mutate.lock"))
        summary = campaign_of(options.seed, options.count, options.budget)
    print(
        f"{summary['status']}  mutate seed {summary['seed']}, {summary['mutants']} mutants, "
        f"{summary['killed']} killed, {summary['survivors']} survivors, {summary['seconds']:.0f} s"
    )
    return 0 if summary["status"] == "pass" else 1
