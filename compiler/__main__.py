# SPDX-License-Identifier: Apache-2.0
"""python -m compiler: as `eyrie compile` (scripts/compile_net.py), without progress."""

import argparse
import sys

from compiler.command import add_arguments, run
from compiler.command_line import Parser, say, what_is_wrong


def main() -> int:
    parser = Parser(prog="python -m compiler", description="Compiles an int8 .tflite or .onnx model.",
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="print no table")
    try:
        run(parser.parse_args())
    except Exception as error:
        said = what_is_wrong(error)
        if said is None:
            raise
        say(f"{parser.prog}: {said}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
