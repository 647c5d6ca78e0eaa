"""Runs simulation tests, each in its own process.

    python -m tb.common.runner TEST ... [--seed N] [--waves]    (what `make sim` calls)
    python -m tb.common.runner --list

A run writes build/<test>/log.txt, summary.json and, with waves, dump.vcd.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import find_libpython
from cocotb_tools import config

from tb.catalogue import Bench, UnknownTest, benches, find
from tb.common import summary
from tb.common.sources import ROOT, SourceError
from tb.common.verilate import BuildError, build_model

SEED_LIMIT = 2**31 - 1  # Verilator's largest


def simulate(
    bench: Bench, seed: int, waves: bool = False, out: Path | None = None, echo: bool = False
) -> dict[str, object]:
    """Builds the bench's model if need be, runs its test, and returns the summary it stored.

    `out` is where log.txt and summary.json go (build/<test>). With `echo` the log is also printed
    as it grows. The status is "fail" if the test failed, ended early, or compared nothing; "reason"
    then says why. Raises BuildError and SourceError.
    """
    out = out or ROOT / "build" / bench.name
    model = build_model(bench.top, bench.parameters, bench.sources, waves)
    out.mkdir(parents=True, exist_ok=True)
    for name in ("log.txt", "results.xml", "summary.json", "dump.vcd"):
        (out / name).unlink(missing_ok=True)
    # To Verilator, seed 0 is the request to choose one.
    command = [str(model), f"+verilator+seed+{seed + 1}", "+verilator+rand+reset+2"]
    if waves:
        command += ["--trace", "--trace-file", "dump.vcd"]
    start = time.monotonic()
    timed_out = _run(command, _environment(bench, seed, out), out, bench.timeout_s, echo)
    seconds = time.monotonic() - start
    reason = f"no end after {bench.timeout_s:g} s" if timed_out else _failure(out)
    entries = {"test": bench.name, "status": "fail" if reason else "pass", "seed": seed}
    if bench.expect_fail is not None:
        # The one comparison made is that of the message.
        found = bool(reason) and bench.expect_fail in (out / "log.txt").read_text()
        reason = None if found else f"did not fail with {bench.expect_fail!r}"
        entries["status"] = "pass" if found else "fail"
        (out / "summary.json").write_text(
            json.dumps({"cycles": 0, "comparisons": 1, "mismatches": int(not found)})
        )
    if reason:
        entries["reason"] = reason
    return summary.complete(out / "summary.json", **entries, seconds=round(seconds, 2))


def rerun_line(bench: Bench, seed: int) -> str:
    """The command that repeats a run exactly, with waves."""
    return f"make sim TEST={bench.name} SEED={seed} WAVES=1"


def _environment(bench: Bench, seed: int, out: Path) -> dict[str, str]:
    """What cocotb's start-up inside the model reads (cocotb's manual, "Building custom flows")."""
    return os.environ | {
        "GPI_USERS": f"{find_libpython.find_libpython()};{config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": str(ROOT),
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TOPLEVEL": bench.top,
        "COCOTB_TEST_MODULES": bench.module,
        "COCOTB_TEST_FILTER": rf"\.{bench.testcase}$",
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(out / "results.xml"),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",  # Verilator schedules writes as the standard asks
        "COCOTB_ANSI_OUTPUT": "0",
        "GPI_LOG_LEVEL": "WARNING",
        summary.VARIABLE: str(out / "summary.json"),
        "EYRIE_ARGUMENTS": json.dumps(dict(bench.arguments)),
    }


def _run(
    command: list[str], environment: dict[str, str], out: Path, timeout_s: float, echo: bool
) -> bool:
    """Runs the model in `out` with its output in log.txt; returns whether it ran out of time."""
    timed_out = threading.Event()
    with (
        (out / "log.txt").open("w") as log,
        subprocess.Popen(
            command,
            env=environment,
            cwd=out,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        timer = threading.Timer(timeout_s, lambda: (timed_out.set(), process.kill()))
        timer.start()
        for line in process.stdout:
            log.write(line)
            log.flush()
            if echo:
                print(line, end="", flush=True)
        process.wait()
        timer.cancel()
    return timed_out.is_set()


def _failure(out: Path) -> str | None:
    """Why the finished run in `out` did not pass, in one line; None if it did."""
    for line in (out / "log.txt").read_text().splitlines():
        if "%Error" in line:  # an assertion of the design
            return line
    if not (out / "results.xml").exists():
        return "the simulation ended before the test did"
    results = ElementTree.parse(out / "results.xml")
    for failure in [*results.iter("failure"), *results.iter("error")]:
        message = failure.get("message", "").strip()
        return message.splitlines()[0] if message else "the test failed"
    if len(list(results.iter("testcase"))) != 1:
        return "the module has no test of that name, or several"
    if not (out / "summary.json").exists():
        return "the test wrote no summary"
    counts = json.loads((out / "summary.json").read_text())
    if counts["mismatches"]:
        return f"{counts['mismatches']} mismatches"
    return None if counts["comparisons"] else "the test compared nothing"


def _report(bench: Bench, result: dict[str, object]) -> None:
    """One line for a run, and a second that repeats it if it failed."""
    speed = result["cycles"] / max(result["seconds"], 0.01) / 1000
    print(
        f"{result['status']}  {bench.name:12} seed {result['seed']}, {result['cycles']} cycles, "
        f"{result['comparisons']} comparisons, {result['mismatches']} mismatches, "
        f"{result['seconds']:.1f} s, {speed:.0f} kcycles/s"
    )
    if result["status"] != "pass":
        print(f"{result['reason']}\nagain, with waves: {rerun_line(bench, result['seed'])}")


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed < SEED_LIMIT:
        raise argparse.ArgumentTypeError(f"{seed} is not within 0 to {SEED_LIMIT - 1}")
    return seed


def main() -> int:
    """The command line; returns 0 if all passed, 1 if one failed, 2 if there is no such test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", metavar="TEST", help="all of them if none is given")
    parser.add_argument("--seed", type=_seed, help="random and printed by default")
    parser.add_argument("--waves", action="store_true", help="write build/TEST/dump.vcd")
    parser.add_argument("--quiet", action="store_true", help="print results only")
    parser.add_argument("--list", action="store_true", help="print the tests and what they do")
    options = parser.parse_args()
    if options.list:
        for bench in benches().values():
            print(f"{bench.name:12} {bench.about}")
        return 0
    passed = True
    try:
        for bench in [find(name) for name in options.tests] or benches().values():
            seed = random.randrange(SEED_LIMIT) if options.seed is None else options.seed
            if not options.quiet:
                print(f"{bench.name}: seed {seed}", flush=True)
            result = simulate(bench, seed, options.waves, echo=not options.quiet)
            _report(bench, result)
            passed &= result["status"] == "pass"
    except UnknownTest as error:
        print(f"eyrie: {error}", file=sys.stderr)
        return 2
    except (BuildError, SourceError) as error:
        print(f"eyrie: {error}", file=sys.stderr)
        return 1
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
