# SPDX-License-Identifier: Apache-2.0
"""Lints the RTL with Verilator and slang; a warning is an error.

Two tools, since each finds what the other does not (slang alone sees a variable with two drivers in separate
processes). Every module that no other one instantiates is a top; the machine is also elaborated at other sizes.
"""

import argparse
import re
import subprocess
from pathlib import Path

from eyrie.runtime import progress
from eyrie.runtime.folders import ROOT, checkout
from eyrie.runtime.simulator import verilator
from eyrie.runtime.simulator.sources import arguments, closure, code

WAIVERS = ROOT / "scripts" / "lint.vlt"
MACHINE = "eyrie"
SIZES = [(3, 2), (9, 5), (12, 14)]  # rows, columns beside the default
VARIANTS = (
    {"BUS_WORDS": 2, "FILTER_LANES": 2, "GLB_BANKS": 4, "GLB_BANK_WORDS": 513, "PSUM_WORDS": 256, "IFMAP_WORDS": 32},
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
# case, `unique` or not; and a cast to a parameter's width does nothing for one of its values only.
SLANG_FLAGS = "-Wextra -Werror -Wno-case-redundant-default -Wno-useless-cast"

_MODULE = re.compile(r"^\s*module\s+(\w+)", re.MULTILINE)


def tops() -> list[str]:
    """The modules of rtl/ that no file of rtl/ instantiates."""
    texts = {path: code(path) for path in sorted((ROOT / "rtl").rglob("*.sv"))}
    modules = [name for text in texts.values() for name in _MODULE.findall(text)]

    def instantiated(name: str) -> bool:
        instance = re.compile(rf"^\s*{name}\s+(#\s*\(|\w+\s*[(\[])", re.MULTILINE)
        return any(instance.search(text) for text in texts.values())

    return [name for name in modules if not instantiated(name)]


def with_verilator(top: str, parameters: dict[str, int], files: list[Path]) -> bool:
    """Whether Verilator finds nothing; it prints what it finds."""
    generics = [f"-G{name}={value}" for name, value in parameters.items()]
    command = [*verilator.command(), *"--lint-only -Wall --quiet-stats --no-timing --assert --top-module".split()]
    command += [top, *generics, str(WAIVERS), *arguments(files)]
    return subprocess.run(command, env=verilator.environment()).returncode == 0


def with_slang(top: str, parameters: dict[str, int], files: list[Path]) -> bool:
    """Whether slang finds nothing; it prints what it finds."""
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(options: argparse.Namespace) -> int:
    checkout("the linted files")
    runs = [(top, {}) for top in tops()]
    if (MACHINE, {}) in runs:
        runs += [(MACHINE, {"ROWS": rows, "COLS": columns}) for rows, columns in SIZES]
        runs += [(MACHINE, parameters) for parameters in VARIANTS]
    failed = []
    with progress.task("linting", "tops") as task:
        for number, (top, parameters) in enumerate(runs):
            label = " ".join([top, *(f"{name}={value}" for name, value in parameters.items())])
            task.at(number, len(runs), label)
            files = closure(top)
            for tool in (with_verilator, with_slang):
                if not tool(top, parameters, files):
                    failed.append(f"{label} ({tool.__name__.removeprefix('with_')})")
    print("lint:", f"failed: {', '.join(failed)}" if failed else f"clean, {len(runs)} tops")
    return 1 if failed else 0
