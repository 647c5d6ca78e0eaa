"""python -m compiler MODEL -o DIR [--dump STAGE] [--config FILE] [--objective O] [--effort N] [--batch N]
[--quiet]

Compiles an int8 .tflite model into DIR (image.bin, map.json, program.txt, layers.csv, summary.json) and
prints a table of its layers. With --dump a stage is printed instead; -o may then be left out.
"""

import sys

from compiler.command import DESCRIPTION, add_arguments, run
from compiler.command_line import Parser


def main() -> int:
    parser = Parser(prog="python -m compiler", description=DESCRIPTION)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
