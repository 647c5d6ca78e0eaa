# SPDX-License-Identifier: Apache-2.0
"""Apply one-line mutations to the RTL and run the testbenches that should find them.

    eyrie mutate [--seed N] [--count N] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

The mutations change operators, conditions, constants and ternary arms, or drop assignments. The seed draws from all of
them, one block after the other. Each mutation is applied to a copy of the tree (build/mutations). The testbenches of
its file run, closest and cheapest first, until one fails; a mutant that all of them pass has survived. A change that
does not build, or that EQUIVALENT lists, is replaced by another one of its block. Results: build/mutate/summary.json.
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from eyrie.compiler.command_line import whole_number
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.mutations import Candidate, apply, candidates
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from eyrie.runtime.folders import ROOT

COPIED = ("eyrie", "rtl", "model", "compiler", "runtime", "tb", "tests", "data")
GENERATED = {"encoding_pkg.sv", "eyrie_pkg.sv", "configuration_check.sv"}

_PE = "pe0 pe1 pe2 pe5 pe3 pe6 pe4"
_SUPER = "super2 super0 super1"
_REQUANT = "requant0 requant1 requant2"
_ARRAY = "array16 array15 array6 array8 array10"
_PASS = "pass1 pass0 pass2 pass7 pass8 pass9 pass3 streams0 pass5 pass4 words1"
_PPU = "ppu5 ppu8 ppu4 ppu1 ppu2 ppu3 ppu0 ppu7 ppu9 ppu6"
_CODES = "code1 code0 code2 code3 tile14 tile16"
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
    "tiling": {"tiling/dma/weight_*.sv": _CODES, "tiling/*.sv": f"{_TILE} tile14 tile16"},
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
        "rtl/bus/burst_splitter.sv",
        "beat_q <= '0;",
        ";",
    ): "a reset: it is read only while left_q, which is reset, is not 0",
    (
        "rtl/bus/axi_writer.sv",
        "wstrobe_q <= '0;",
        ";",
    ): "a reset: it is read only while wvalid_q, which is reset, is set",
    (
        "rtl/eyrie.sv",
        "increment = '0;",
        "increment = '1;",
    ): "a default: every counter is assigned below it",
    (
        "rtl/eyrie.sv",
        "(Counters'(1) << CounterPeWaitIfmap) | (Counters'(1) << CounterPeWaitWords) |",
        "(Counters'(1) << CounterPeWaitIfmap) | (Counters'(0) << CounterPeWaitWords) |",
    ): "a PE waits in a pass only, and counters begin and end between passes",
    (
        "rtl/common/queue.sv",
        "if (WIDTH * DEPTH < RamBits) begin : gen_registers",
        "if (!(WIDTH * DEPTH < RamBits)) begin : gen_registers",
    ): "both memories have the same interface and timing",
    (
        "rtl/tiling/dma/dma_rows.sv",
        "plane_dram_q <= '0;",
        ";",
    ): "a reset: it is read only while active_q, which is reset, is set",
    (
        "rtl/array/network/multicast_controller.sv",
        "scan_q <= '1;",
        ";",
    ): "a reset: every pass shifts in all IDs before they become current",
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


def draw(blocks: dict[str, list[Candidate]], seed: int, count: int) -> tuple[dict[str, list[Candidate]], Counter[str]]:
    """Return the candidates of each block in random order, and how many mutants of each block `count` turns take.

    Blocks take turns, in a new order each round. The position of a candidate depends on the seed and on its text only,
    so that a change elsewhere in the RTL hardly changes the draw.
    """

    def key(candidate: Candidate) -> str:
        text = f"{seed} {candidate.file} {candidate.before} {candidate.after}"
        return hashlib.sha256(text.encode()).hexdigest()

    queues = {
        block: sorted((each for each in found if (each.file, each.before, each.after) not in EQUIVALENT), key=key)
        for block, found in blocks.items()
    }
    rng = random.Random(seed)
    order = itertools.chain.from_iterable(rng.sample(list(queues), len(queues)) for _ in range(count))
    turns = Counter(itertools.islice(order, count))
    return queues, Counter({block: min(wanted, len(queues[block])) for block, wanted in turns.items()})


# ---- The copy ----


def copy_tree(root: Path, tree: Path) -> None:
    """Copy the files that the testbenches need to `tree`, whose build/ stays."""
    for name in COPIED:
        shutil.rmtree(tree / name, ignore_errors=True)
        shutil.copytree(root / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(root / "pyproject.toml", tree)


@contextmanager
def free_tree(root: Path) -> Iterator[Path]:
    """Yield a copy of the tree that no other process uses. The simulation models in its build/ are reused."""
    for number in itertools.count():
        place = folders.BUILD / "mutations" / str(number)
        place.mkdir(parents=True, exist_ok=True)
        with suppress(BlockingIOError), folders.locked_folder(place, wait=False):
            copy_tree(root, place)
            yield place
            return


class Tree:
    """A copy of the tree in which testbenches run."""

    def __init__(self, tree: Path, seed: int) -> None:
        self.tree, self.seed = tree, seed

    def run(self, bench: str) -> dict[str, str | None]:
        """Status ("pass", "fail", "no build") and reason of one run in the copy as it is."""
        environment = {"EYRIE_OPT": OPTIMISATION} | os.environ | {"PYTHONPATH": str(self.tree)}
        environment["EYRIE_BUILD"] = str(self.tree / "build")
        command = [sys.executable, "-c", _WORKER, bench, str(self.seed), str(CYCLES)]
        run = subprocess.run(command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{bench}: the run ended with {run.returncode}")
        return json.loads(run.stdout.splitlines()[-1])

    def check_baseline(self, bench: str) -> None:
        """Raises BaselineError unless the bench passes without a change."""
        result = self.run(bench)
        if result["status"] != "pass":
            raise BaselineError(f"{bench} fails without a change: {result['reason']}")

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


def tried(folder: Path, candidate: dict, seed: int) -> Result:
    """Return the result of a candidate."""
    with free_tree(ROOT) as tree:
        entry = Tree(tree, seed).trial(Candidate(**candidate))
    return Result(entry, failure="it survived" if entry["result"] == "survived" else None)


# ---- The campaign ----


def mutants(campaign: engine.Campaign, folder: Path, seed: int, count: int) -> tuple[list[dict], list[str]]:
    """Try `count` mutants, or as many as begin within the budget; return those that build, and the places of those that
    the budget left out.

    A mutant that does not build gives its turn to the next candidate of its block, in the next round.
    """
    queues, turns = draw(by_block(ROOT), seed, count)
    found: list[dict] = []
    left: list[str] = []
    for number in itertools.count():
        chosen = [
            queues[block].pop(0) for block, wanted in turns.items() for _ in range(min(wanted, len(queues[block])))
        ]
        if not chosen:
            return found, left
        again = f"eyrie mutate --seed {seed} --count {count}"
        tasks = [
            Task(f"{each.file}:{each.line}", tried, {"candidate": asdict(each), "seed": seed}, again) for each in chosen
        ]
        (folder / str(number)).mkdir()
        entries = campaign.run(tasks, folder / str(number), tell)
        left += [task.name for task, entry in zip(tasks, entries) if not entry]
        results = [entry for entry in entries if entry]
        found += [entry for entry in results if entry["result"] != "no build"]
        turns = Counter(place(entry["file"])[0] for entry in results if entry["result"] == "no build")
    raise AssertionError("itertools.count ended")


def tell(result: dict) -> None:
    bench = f" by {result['bench']}" if result["bench"] else ""
    print(
        f"{result['result']}{bench}: {result['file']}:{result['line']}: {result['before']}  ->  {result['after']}",
        flush=True,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(0), default=1, metavar="N", help="seed of the mutations (1)")
    parser.add_argument("--count", type=whole_number(1), default=20, metavar="N", help="number of mutants (20)")
    engine.add_arguments(parser, 24 * 60)


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.simulator.summary import write_summary

    folders.checkout("the testbenches")
    start = time.monotonic()
    with folders.replacing(folders.BUILD / "mutate") as folder:
        results, left = mutants(engine.Campaign.of("mutate", options), folder, options.seed, options.count)
        survivors = sum(result["result"] == "survived" for result in results)
        status = "pass" if results and not survivors else "fail"
        summary = {
            "test": "mutate",
            "status": status,
            "seed": options.seed,
            "seconds": round(time.monotonic() - start, 1),
            "mutants": len(results),
            "killed": len(results) - survivors,
            "survivors": survivors,
            "left": left,
            "results": results,
        }
        write_summary(folder / "summary.json", summary)
    if left:
        print(engine.left_line(left))
    print(
        f"{status}  mutate seed {options.seed}, {len(results)} mutants, {len(results) - survivors} killed, "
        f"{survivors} survivors, {summary['seconds']:.0f} s"
    )
    return 0 if status == "pass" else 1
