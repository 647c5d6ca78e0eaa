"""python -m compiler MODEL -o DIR [--dump STAGE] [--config FILE]

Compiles an int8 .tflite model into DIR (image.bin, map.json, program.txt). With --dump a stage is printed
(import, passes, groups, schedule, assemble, image); -o may then be left out.
"""

import sys

from compiler.command_line import Parser
from compiler.pipeline import DUMPS, compile_network
from model.config import DEFAULT, MachineConfig


def main() -> int:
    parser = Parser(prog="python -m compiler", description="Compiles an int8 .tflite model.")
    parser.add_argument("model")
    parser.add_argument("-o", "--output", metavar="DIR")
    parser.add_argument("--dump", choices=DUMPS)
    parser.add_argument("--config", metavar="FILE", help="JSON with machine parameters")
    arguments = parser.parse_args()
    if not arguments.output and not arguments.dump:
        parser.error("nothing to do: give -o DIR or --dump STAGE")
    try:
        machine = MachineConfig.load(arguments.config) if arguments.config else DEFAULT
        stages = compile_network(arguments.model, machine)
        if arguments.output:
            stages.image.save(arguments.output, stages.text)
    except (ValueError, OSError) as error:
        print(f"compiler: {error}", file=sys.stderr)
        return 1
    if arguments.dump:
        print(stages.dump(arguments.dump))
    return 0


if __name__ == "__main__":
    sys.exit(main())
