# SPDX-License-Identifier: Apache-2.0
"""Show the place and size of the caches, and clear them.

    eyrie cache [--clear]

Simulation models, compiled networks and the results of the commands are in one folder: build/ in a checkout,
$XDG_CACHE_HOME/eyrie (or ~/.cache/eyrie) for an installed package, or the folder that EYRIE_BUILD names.
"""

import argparse
import os
import shutil
from contextlib import suppress
from pathlib import Path

CACHES = {
    "models": "simulation models",
    "socs": "simulated SoCs",
    "programs": "compiled networks",
    "results.sqlite": "results of campaigns",
    "tasks": "files of running tasks",
    "mutations": "trees of mutations",
    "requests": "operators that C programs asked for",
    "matplotlib": "fonts of the plots",
}
# Folders that a command replaces as a whole, and files that it names by itself: the user's own files are in others.
RESULTS = (
    *("accuracy", "bench", "dataset", "demo", "explore", "family", "golden", "graph/*.svg", "layer", "machines"),
    *("mlperf-tiny", "mutate", "operators", "profile", "regress", "run", "schedule/*.html", "sim", "site", "sizes"),
    *("study", "synth", "waves", "zoo"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove the caches and the results of commands")


def run(options: argparse.Namespace) -> None:
    from eyrie.runtime.folders import BUILD

    rows = [(about, BUILD / name) for name, about in CACHES.items()]
    rows += [("results of a command", path) for pattern in RESULTS for path in sorted(BUILD.glob(pattern))]
    verb = "removed" if options.clear else ""
    total = 0
    for about, folder in rows:
        if folder.exists():
            size = size_of(folder) if folder.is_dir() else folder.stat().st_size
            total += size
            print(f"{size / 1e6:10,.1f} MB  {about}: {folder}")
            if options.clear:
                shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    if options.clear:
        for lock in BUILD.glob("*.lock"):
            lock.unlink()
        (BUILD / ".lock").unlink(missing_ok=True)
        with suppress(OSError):  # other files lie there
            BUILD.rmdir()
    print(f"{total / 1e6:10,.1f} MB  {verb or 'in all'}: {BUILD}")


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder; a file that vanishes meanwhile counts 0."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
