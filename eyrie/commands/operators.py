# SPDX-License-Identifier: Apache-2.0
"""Run published layers through the operator library on the RTL and print the share of their roofline.

    eyrie operators [--layers A,B] [--most-cycles N]
    eyrie operators --compile REQUEST [REQUEST ...] [--c FILE.c]

The layers come from tables 3.5 and 4.6 of DLPlib (docs/howto/operators.md) and run on random values. For each layer the
command prints the roofline, the predicted cycles, the cycles that the accelerator counted, and the clock cycles from
the first register write of the call to the end of its stream. A layer that is predicted to take more than --most-cycles
does not run. The folder build/operators gets summary.json (docs/reference/summary.md). The exit code is 1 if an output
differs from the golden model's or a share is below its threshold.

With --compile the command compiles operators that C programs have requested (docs/howto/operators.md). It prints the
data that such a program needs for each operator, or writes all of them as a C source.
"""

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

if TYPE_CHECKING:
    from eyrie.measure.operator_layers import Layer, Measured

MOST_CYCLES = 30_000_000
SHARES = {"compiled_share": 0.95, "roofline_share": 0.79}  # at least
NO_BAR = "roofline_share", "normalization"  # it takes three passes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layers", metavar="A,B", help="names of layers (all)")
    parser.add_argument(
        "--most-cycles",
        type=whole_number(0),
        default=MOST_CYCLES,
        metavar="N",
        help=f"predicted cycles up to which a layer runs on the RTL ({MOST_CYCLES:,})",
    )
    parser.add_argument(
        "--compile",
        type=file_name,
        nargs="+",
        metavar="REQUEST",
        help="files that programs of the operator library left in SOC_REQUESTS",
    )
    parser.add_argument("--c", type=file_name, metavar="FILE.c", help="C source to write")


def run(options: argparse.Namespace) -> int:
    if options.c and not options.compile:
        raise InputError("--c needs --compile: name the requests")
    return compile_requests(options) if options.compile else measure(options)


def compile_requests(options: argparse.Namespace) -> int:
    from eyrie.compiler.files import check_file, write_all
    from eyrie.measure.operator_programs import answer, program_of, source_text

    if options.c:
        check_file(options.c)
    programs = [program_of(path) for path in options.compile]
    if options.c:
        write_all(options.c.parent, {options.c.name: source_text(programs).encode()})
    else:
        print("\n".join(answer(folder) for _, folder in programs))
    return 0


def measure(options: argparse.Namespace) -> int:
    from eyrie.measure.operator_layers import LAYERS, measured
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    layers = chosen(options.layers, LAYERS)
    found: list[Measured] = []
    print(
        f"{'layer':6} {'roofline':>11} {'by':11} {'predicted':>11} {'counted':>11} {'clocked':>11} "
        f"{'of compiled':>12} {'of roofline':>12}"
    )
    for layer in layers:
        found.append(measured(layer, options.most_cycles))
        print(line(found[-1]), flush=True)
    rows = [of.summary for of in found]
    wrong = [f"{of.name}: the output is not the golden model's" for of in found if of.match is False]
    wrong += [
        f"{row['name']}: {key} {row[key]:.4f}, must be at least {least}"
        for layer, row in zip(layers, rows, strict=True)
        for key, least in SHARES.items()
        if row[key] is not None and row[key] < least and (key, layer.kind) != NO_BAR
    ]
    with replacing(BUILD / "operators") as folder:
        write_summary(
            folder / "summary.json",
            {"test": "operators", "status": "fail" if wrong else "pass", "layers": rows, "bars": SHARES},
        )
    print("\n".join([f"{len(wrong)} wrong:", *wrong]) if wrong else "all results right, no bar missed")
    return 1 if wrong else 0


def chosen(text: str | None, layers: tuple["Layer", ...]) -> list["Layer"]:
    """Raises InputError, in one line, for an unknown name."""
    by_name = {layer.name: layer for layer in layers}
    names = [name.strip() for name in text.split(",")] if text else list(by_name)
    for name in names:
        if name not in by_name:
            raise InputError(unknown("layer", name, by_name))
    return [by_name[name] for name in names]


def line(measured: "Measured") -> str:
    """The columns of the table."""
    row = measured.summary
    cells = ["" if row[key] is None else f"{row[key]:,}" for key in ("predicted_cycles", "cycles", "clocked_cycles")]
    shares = ["" if row[key] is None else f"{100 * row[key]:.1f} %" for key in SHARES]
    return (
        f"{row['name']:6} {row['roofline_cycles']:11,} {row['bound']:11} "
        + " ".join(f"{c:>11}" for c in cells)
        + " "
        + " ".join(f"{share:>12}" for share in shares)
    ).rstrip()
