# SPDX-License-Identifier: Apache-2.0
"""Assemble a source of layers and commands, or print a compiled program as a source.

    eyrie asm FILE.s -o DIR
    eyrie asm DIR --disassemble

FILE.s has declarations, layers and commands (docs/reference/assembly.md). DIR is a folder for eyrie run, as eyrie
compile writes it. Errors begin with FILE:line:column. With --disassemble the command prints the program of a folder as
a source for the DRAM of that folder, which you may change and assemble.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_folder
from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.model.errors import InputError
from eyrie.runtime import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=file_name, help="source to assemble, or with --disassemble a folder"
    )
    parser.add_argument("-o", "--output", type=file_name, metavar="DIR", help="folder for the program and its DRAM")
    parser.add_argument("--disassemble", action="store_true", help="print the program of the folder FILE")
    parser.add_argument(
        "--objective",
        metavar="OBJECTIVE",
        choices=OBJECTIVES,
        default=OBJECTIVES[0],
        help=f"objective of the schedule: {', '.join(OBJECTIVES)} ({OBJECTIVES[0]})",
    )
    parser.add_argument(
        "--search-iterations",
        type=whole_number(1),
        default=SEARCH_ITERATIONS,
        metavar="N",
        help=f"search iterations for the memory allocation of the GLB ({SEARCH_ITERATIONS})",
    )


def run(options: argparse.Namespace) -> None:
    if options.disassemble == bool(options.output):
        raise InputError("no task: give FILE.s -o DIR, or DIR --disassemble")
    if options.output:
        check_folder(options.output)
    from eyrie.compiler.assemble import assemble_file, disassembled

    if options.disassemble:
        print(disassembled(options.file), end="")
        return
    with progress.task(f"assembling {options.file.name}") as task:
        assembled = assemble_file(options.file, options.objective, options.search_iterations, task.say)
    assembled.save(options.output)
    if not options.quiet:
        print(assembled)
