"""python -m compiler MODEL -o DIR [--dump STAGE] [--config FILE] [--objective O] [--effort N] [--batch N]

Compiles an int8 .tflite model into DIR (image.bin, map.json, program.txt). With --dump a stage is printed
(import, passes, groups, fusion, segments, map, places, schedule, assemble, image); -o may then be left out.
"""

import sys

from compiler.command_line import Parser
from compiler.options import EFFORT, MOST_IMAGES, OBJECTIVES
from compiler.pipeline import NAMES, compile_network
from model.config import DEFAULT, MachineConfig


def main() -> int:
    parser = Parser(prog="python -m compiler", description="Compiles an int8 .tflite model.")
    parser.add_argument("model")
    parser.add_argument("-o", "--output", metavar="DIR")
    parser.add_argument("--dump", choices=NAMES)
    parser.add_argument("--config", metavar="FILE", help="JSON with machine parameters")
    parser.add_argument("--objective", choices=OBJECTIVES, default=OBJECTIVES[0], help="what the plan minimises")
    parser.add_argument("--effort", type=int, default=EFFORT, metavar="N",
                        help="arrangements of the GLB that are tried")
    parser.add_argument("--batch", type=int, default=1, metavar="N",
                        help="images of a run, which share the weights of the later layers")
    arguments = parser.parse_args()
    if arguments.effort < 1:
        parser.error(f"--effort {arguments.effort}: must be at least 1")
    if not 1 <= arguments.batch <= MOST_IMAGES:
        parser.error(f"--batch {arguments.batch}: must be 1 to {MOST_IMAGES}")
    if not arguments.output and not arguments.dump:
        parser.error("nothing to do: give -o DIR or --dump STAGE")
    try:
        machine = MachineConfig.load(arguments.config) if arguments.config else DEFAULT
        stages = compile_network(arguments.model, machine, arguments.objective, arguments.effort,
                                 arguments.batch, until=None if arguments.output else arguments.dump)
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
