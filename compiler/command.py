# SPDX-License-Identifier: Apache-2.0
"""The command that compiles: its arguments, and `run`.

It checks all it can before it imports slow modules or starts slow work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_folder
from eyrie.compiler.frontend.file import REMEDY, read_model
from eyrie.compiler.ir.failure import DoesNotFit, Unsupported
from eyrie.compiler.ir.heading import IMPORT, stage_of
from eyrie.compiler.network import compile_until
from eyrie.compiler.options import MOST_IMAGES, OBJECTIVES, SEARCH_ITERATIONS
from eyrie.compiler.pipeline import NAMES, STAGES, dumped
from eyrie.compiler.results import Built, Request, reached
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.model.reading import read_file

if TYPE_CHECKING:  # imported when they are needed
    from eyrie.compiler.ir.nest_text import ScheduleText
    from eyrie.compiler.parts import Compiled

STAGE_LIST = "stages:\n" + "\n".join(f"  {stage.name:9} {stage.about}" for stage in STAGES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`. Import no slow module."""
    parser.epilog = STAGE_LIST
    parser.add_argument(
        "model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model, or a text of a stage"
    )
    parser.add_argument(
        "-o", "--output", type=file_name, metavar="DIR", help="folder for the compiled network and its metrics"
    )
    parser.add_argument(
        "--dump",
        metavar="STAGE",
        choices=NAMES,
        help="print the result of a stage in place of the table; without -o no later stage runs",
    )
    add_request(parser)


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the options of `request_of`."""
    parser.add_argument(
        "--schedule",
        type=file_name,
        metavar="FILE",
        help="schedule to use in place of the planner's, as --dump segments prints it",
    )
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the options of a compilation."""
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")
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
    parser.add_argument(
        "--batch",
        type=whole_number(1, MOST_IMAGES),
        default=1,
        metavar="N",
        help=f"images that run together and share the weights of later layers: 1 to {MOST_IMAGES} (1)",
    )


def run(options: argparse.Namespace, on_stage: Callable[[str], None] | None = None) -> None:
    """Compile; print the table (unless `options.quiet`), or the dump that `options` requests.

    on_stage: called with the name of each stage when it begins. Raise InputError, with one line, if a file, the model
    or the configuration is wrong.
    """
    if not options.output and not options.dump:
        raise InputError("no task: give -o DIR or --dump STAGE")
    if stage_of(read_file(options.model, REMEDY)) not in (None, IMPORT):
        return _go_on(options, on_stage)
    read_model(options.model)
    request = request_of(options)
    if options.output:
        check_folder(options.output)
    table, dump = _saved(request, options, on_stage) if options.output else ("", _dumped(request, options, on_stage))
    if options.dump:
        print(dump)
    elif not options.quiet:
        print(table)


def request_of(options: argparse.Namespace) -> Request:
    """Return the compilation that the options of `add_request` ask for. Raise InputError for a wrong file."""
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    choices = options.objective, options.search_iterations, options.batch
    return Request(options.model, config, *choices, given=_schedule(options))


def _schedule(options: argparse.Namespace) -> ScheduleText | None:
    """Read the schedule that the options name. Raise InputError, which begins with its path."""
    if not options.schedule:
        return None
    if options.batch > 1:
        raise InputError("--schedule is for one image: leave out --batch")
    from eyrie.compiler.ir.nest_text import read_schedule

    return read_schedule(options.schedule)


def _go_on(options: argparse.Namespace, on_stage: Callable[[str], None] | None) -> None:
    """Compile from the text of a stage."""
    if options.schedule:
        raise InputError(f"{options.model}: --schedule is for a model, not for the text of a stage: leave it out")
    if options.config or (options.objective, options.search_iterations, options.batch) != (
        OBJECTIVES[0],
        SEARCH_ITERATIONS,
        1,
    ):
        raise InputError(
            f"{options.model}: the text says for which accelerator, and what else it is asked for: leave out "
            "--config, --objective, --search-iterations and --batch"
        )
    if options.output:
        check_folder(options.output)
    from eyrie.compiler.ir_text import compiled

    stages = compiled(options.model, on_stage)
    if options.output:
        from eyrie.compiler.artefact.network import CompiledNetwork
        from eyrie.compiler.folder import save
        from eyrie.compiler.performance import performance

        built = reached(stages, Built)
        network = CompiledNetwork.of_program(built.image, performance(built))
        save(network, options.output)
    if options.dump:
        print(dumped(stages, options.dump))
    elif not options.quiet:
        print(network.programs[0].performance)


def _saved(request: Request, options: argparse.Namespace, on_stage: Callable[[str], None] | None) -> tuple[str, str]:
    """Compile, and write the folder. Return the table and, if it is asked for, the dump."""
    from eyrie.compiler.folder import save
    from eyrie.compiler.parts import check_accelerated, compile_request

    compiled = compile_request(request, on_stage)
    if options.dump:
        check_accelerated(compiled, options.model, "leave out --dump, and the table has the reasons")
    save(compiled.network, options.output)
    return str(compiled), _dump_of(compiled, options.dump) if options.dump else ""


def _dumped(request: Request, options: argparse.Namespace, on_stage: Callable[[str], None] | None) -> str:
    """Run only the stages that a dump needs; return it."""
    if not request.given:
        try:
            with about(options.model):
                return dumped(compile_until(options.dump, request, on_stage), options.dump)
        except InputError as error:
            if not isinstance(error.__cause__, (Unsupported, DoesNotFit)):
                raise
    from eyrie.compiler.parts import check_accelerated, compile_request

    compiled = compile_request(request, on_stage)
    check_accelerated(compiled, options.model)
    return _dump_of(compiled, options.dump)


def _dump_of(compiled: Compiled, stage: str) -> str:
    """Return the dump of a network, one for each subgraph of the accelerator if it is split."""
    if compiled.whole:
        return dumped(compiled.whole, stage)
    return "\n\n".join(
        f"part{number}: {each.part}\n{dumped(each.stages, stage)}"
        for number, each in enumerate(compiled.parts)
        if each.stages
    )
