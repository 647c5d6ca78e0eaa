# SPDX-License-Identifier: Apache-2.0
"""Draw the trace of a run: what each unit does around a cycle, or in the whole run.

    eyrie trace FILE --svg FILE.svg [--at CYCLE [--cycles N]]

FILE is a trace that `eyrie run --trace FILE` wrote. docs/howto/trace.md explains its tracks.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, whole_file
from eyrie.model.errors import InputError
from eyrie.runtime import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=file_name, metavar="FILE", help="trace")
    parser.add_argument("--svg", type=file_name, required=True, metavar="FILE.svg", help="picture to write")
    parser.add_argument("--at", type=whole_number(0), metavar="CYCLE", help="cycle in the middle (the whole run)")
    parser.add_argument(
        "--cycles", type=whole_number(10), metavar="N", default=2000, help="cycles of the picture with --at (2,000)"
    )


def run(options: argparse.Namespace) -> None:
    check_file(options.svg)
    from eyrie.runtime.trace.picture import picture, window
    from eyrie.runtime.trace.reader import read_trace

    with progress.task("drawing the trace"):
        tracks = read_trace(options.file)
        begin, end = window(tracks, options.at, options.cycles)
        if begin >= end:
            raise InputError(f"--at {options.at}: {options.file} ends before cycle {end}: give an earlier cycle")
        svg = picture(options.file.name, tracks, begin, end, at=options.at)
    with whole_file(options.svg) as file:
        file.write(svg.encode())
    print(options.svg)
