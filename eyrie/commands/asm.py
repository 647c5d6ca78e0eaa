# SPDX-License-Identifier: Apache-2.0
"""Assembles a program that schedules by hand, or layers a line each; prints programs as a source.

    eyrie asm FILE.s -o DIR
    eyrie asm DIR --disassemble

FILE.s: declarations, layers and commands (docs/reference/assembly.md). DIR: as eyrie compile writes it, for eyrie run.
What is wrong is said as FILE:line:column. --disassemble prints the program of such a folder as a source for the
folder's DRAM, which may be changed and assembled.
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
    parser.add_argument("--disassemble", action="store_true", help="prints the program of the folder FILE")
    parser.add_argument(
        "--objective",
        metavar="OBJECTIVE",
        choices=OBJECTIVES,
        default=OBJECTIVES[0],
        help=f"what the plan of layers minimises: {', '.join(OBJECTIVES)} ({OBJECTIVES[0]})",
    )
    parser.add_argument(
        "--search-iterations",
        type=whole_number(1),
        default=SEARCH_ITERATIONS,
        metavar="N",
        help=f"arrangements of the GLB that are tried ({SEARCH_ITERATIONS})",
    )


def run(options: argparse.Namespace) -> None:
    if options.disassemble == bool(options.output):
        raise InputError("nothing to do: give FILE.s -o DIR, or DIR --disassemble")
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
