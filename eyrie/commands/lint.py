# SPDX-License-Identifier: Apache-2.0
"""Check the RTL with Verilator and slang, the Python with ruff, mypy and import-linter, and the prose for its terms.

    eyrie lint [--python] [--prose]

A warning is an error. The RTL takes two tools, since each finds errors that the other misses (only slang sees a
variable with two drivers in separate processes). A module that no other module instantiates is a top; the accelerator
is also elaborated at other sizes. eyrie/testing/terms.toml has the terms that pages, docstrings, comments and messages
must not use. The run takes about four minutes, the Python alone about one.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from eyrie.runtime import progress
from eyrie.runtime.folders import ROOT, checkout
from eyrie.runtime.simulator import verilator
from eyrie.runtime.simulator.sources import arguments, closure, code
from eyrie.testing import prose

WAIVERS = ROOT / "scripts" / "lint.vlt"
ACCELERATOR = "eyrie"
SIZES = [(3, 2), (9, 5), (12, 14)]  # rows, columns beside the default
VARIANTS = (
    {"WEIGHT_CODES": 1},
    {
        "WEIGHT_CODES": 1,
        "BUS_WORDS": 2,
        "FILTER_LANES": 2,
        "GLB_BANKS": 4,
        "GLB_BANK_WORDS": 513,
        "PSUM_WORDS": 256,
        "IFMAP_WORDS": 32,
    },
    {
        "MULTIPLIERS": 1,
        "GLB_BANKS": 16,
        "GLB_BANK_WORDS": 4096,
        "PSUM_WORDS": 32,
        "IFMAP_WORDS": 4,
        "FILTER_WORDS": 3,
        "PIXEL_WORDS": 2,
        "WORD_BUFFER_WORDS": 64,
    },
)

# Two of slang's extra warnings contradict the house style: lowRISC asks for a default in every
# case, `unique` or not; and a cast to a parameter's width has no effect for one of its values only.
SLANG_FLAGS = "-Wextra -Werror -Wno-case-redundant-default -Wno-useless-cast"

PYTHON_TOOLS = (("ruff", "format", "--check"), ("ruff", "check"), ("mypy",), ("lint-imports",))

_MODULE = re.compile(r"^\s*module\s+(\w+)", re.MULTILINE)


def tops() -> list[str]:
    """Return the modules of rtl/ that no file of rtl/ instantiates."""
    texts = {path: code(path) for path in sorted((ROOT / "rtl").rglob("*.sv"))}
    modules = [name for text in texts.values() for name in _MODULE.findall(text)]

    def instantiated(name: str) -> bool:
        instance = re.compile(rf"^\s*{name}\s+(#\s*\(|\w+\s*[(\[])", re.MULTILINE)
        return any(instance.search(text) for text in texts.values())

    return [name for name in modules if not instantiated(name)]


def with_verilator(top: str, parameters: dict[str, int], files: list[Path]) -> bool:
    """Return whether Verilator finds no fault; print the faults."""
    generics = [f"-G{name}={value}" for name, value in parameters.items()]
    command = [*verilator.command(), *"--lint-only -Wall --quiet-stats --no-timing --assert --top-module".split()]
    command += [top, *generics, str(WAIVERS), *arguments(files)]
    return subprocess.run(command, env=verilator.environment()).returncode == 0


def with_slang(top: str, parameters: dict[str, int], files: list[Path]) -> bool:
    """Return whether slang finds no fault; print the faults."""
    from pyslang import driver

    generics = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    tool = driver.Driver()
    tool.addStandardArgs()
    command = f"slang {SLANG_FLAGS} --top {top} {generics} {' '.join(arguments(files))}"
    return (
        tool.parseCommandLine(command)
        and tool.processOptions()
        and (tool.parseAllSources() and tool.runFullCompilation(quiet=True))
    )


def of_rtl() -> list[str]:
    """Lint every top with both tools; return the failed runs."""
    runs: list[tuple[str, dict[str, int]]] = [(top, {}) for top in tops()]
    if (ACCELERATOR, {}) in runs:
        runs += [(ACCELERATOR, {"ROWS": rows, "COLS": columns}) for rows, columns in SIZES]
        runs += [(ACCELERATOR, parameters) for parameters in VARIANTS]
    failed = []
    with progress.task("linting the RTL", "tops") as task:
        for number, (top, parameters) in enumerate(runs):
            label = " ".join([top, *(f"{name}={value}" for name, value in parameters.items())])
            task.at(number, len(runs), label)
            files = closure(top)
            for tool in (with_verilator, with_slang):
                if not tool(top, parameters, files):
                    failed.append(f"{label} ({tool.__name__.removeprefix('with_')})")
    return failed


def of_python(root: Path) -> list[str]:
    """Check format, style, types and the order of imports; return the failed tools and print their output."""
    environment = os.environ | {"PYTHONPATH": str(root)}
    failed = []
    for words in PYTHON_TOOLS:
        command = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
        with progress.task(f"running {' '.join(words)}"):
            ended = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        if ended.returncode:
            print(ended.stdout + ended.stderr)
            failed.append(" ".join(words))
    return failed


def of_prose(root: Path) -> list[str]:
    """Check pages, docstrings, comments and messages for terms that were given up; print the faults."""
    with progress.task("reading the prose"):
        found = prose.faults(root)
    print("\n".join(found) + "\n" if found else "", end="")
    return ["prose"] if found else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", action="store_true", help="check only the Python")
    parser.add_argument("--prose", action="store_true", help="check only the prose")


def run(options: argparse.Namespace) -> int:
    root = checkout("the linted files")
    everything = not (options.python or options.prose)
    failed = of_prose(root) if options.prose or everything else []
    failed += of_python(root) if options.python or everything else []
    failed += of_rtl() if everything else []
    print("lint:", f"failed: {', '.join(failed)}" if failed else "clean")
    return 1 if failed else 0
