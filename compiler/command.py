"""The command that compiles: its arguments, and what it does with them.

What can be refused is refused before anything slow is imported or done.
"""

import argparse
import sys
from collections.abc import Callable

from compiler.files import check_folder
from compiler.importers.file import read_model
from compiler.options import EFFORT, MOST_IMAGES, OBJECTIVES
from compiler.pipeline import NAMES, STAGES, Stages, compile_network
from model.config import DEFAULT, MachineConfig
from model.messages import unknown

DESCRIPTION = "Compiles an int8 .tflite model."
STAGE_LIST = "stages:\n" + "\n".join(f"  {stage.name:9} {stage.about}" for stage in STAGES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `run`; imports nothing slow."""
    parser.epilog, parser.formatter_class = STAGE_LIST, argparse.RawDescriptionHelpFormatter
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("-o", "--output", metavar="DIR",
                        help="folder for the compiled network and its figures")
    parser.add_argument("--dump", metavar="STAGE", type=_one_of("stage", NAMES),
                        help="prints what a stage makes, in place of the table; without -o no later one runs")
    parser.add_argument("--config", metavar="FILE", help="JSON with machine parameters")
    parser.add_argument("--objective", metavar="O", type=_one_of("objective", OBJECTIVES),
                        default=OBJECTIVES[0],
                        help=f"what the plan minimises: {', '.join(OBJECTIVES)} (default {OBJECTIVES[0]})")
    parser.add_argument("--effort", type=int, default=EFFORT, metavar="N",
                        help=f"arrangements of the GLB that are tried (default {EFFORT})")
    parser.add_argument("--batch", type=int, default=1, metavar="N",
                        help="images of a run, which share the weights of the later layers: "
                             f"1 to {MOST_IMAGES} (default 1)")
    parser.add_argument("--quiet", action="store_true", help="prints no table and no progress")


def _one_of(kind: str, known: tuple[str, ...]) -> Callable[[str], str]:
    def check(name: str) -> str:
        if name not in known:
            raise argparse.ArgumentTypeError(unknown(kind, name, known))
        return name

    return check


def run(options: argparse.Namespace) -> int:
    """Compiles; prints the table, or the dump that is asked for. The exit code: 2 for a bad command line,
    1 for what is wrong with files, model or machine; either is said in one line."""
    try:
        _check_options(options)
    except ValueError as error:
        print(f"compiler: {error}; see --help", file=sys.stderr)
        return 2
    try:
        read_model(options.model)
        machine = MachineConfig.load(options.config) if options.config else DEFAULT
        if options.output:
            check_folder(options.output)
        _compile(options, machine)
    except (ValueError, OSError) as error:
        print(f"compiler: {error}", file=sys.stderr)
        return 1
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raises ValueError in one line."""
    if options.effort < 1:
        raise ValueError(f"--effort {options.effort}: must be at least 1")
    if not 1 <= options.batch <= MOST_IMAGES:
        raise ValueError(f"--batch {options.batch}: must be 1 to {MOST_IMAGES}")
    if not options.output and not options.dump:
        raise ValueError("nothing to do: give -o DIR or --dump STAGE")


def _compile(options: argparse.Namespace, machine: MachineConfig) -> None:
    """Raises ValueError or OSError."""
    progress = _Progress(not options.quiet and sys.stderr.isatty())
    try:
        stages = compile_network(options.model, machine, options.objective, options.effort, options.batch,
                                 until=None if options.output else options.dump, on_stage=progress.show)
    finally:
        progress.clear()
    table = _save(options.output, stages) if options.output else ""
    if options.dump:
        print(stages.dump(options.dump))
    elif not options.quiet:
        print(table)


def _save(folder: str, stages: Stages) -> str:
    """Writes the folder; returns the table. Raises ValueError in one line."""
    from compiler.performance import performance

    figures = performance(stages)
    stages.image.save(folder, stages.text, {"layers.csv": figures.csv(), "summary.json": figures.json()})
    return str(figures)


class _Progress:
    """The stage that runs, in one line of a terminal."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown

    def show(self, stage: str) -> None:
        if self._shown:
            print(f"\r\x1b[Kcompiling: {stage} ...", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
