# SPDX-License-Identifier: Apache-2.0
"""Run a network on the simulated RTL and print its cycles by layer and unit.

    eyrie profile NET [--input X.npy] [--seed N] [--config FILE] [--batch N]

NET is a model, or a folder that `eyrie compile` wrote. X is an input as for `eyrie run`; the default is random. The
command prints cycles, bytes and the states of each unit by layer, and leaves summary.json and report.html in
build/profile. If the network is split between accelerator and CPU, each accelerator part has a table and a report of
its own. For a model, and for a split network, the outputs are compared with the golden model's, and the exit code is 1
if they differ.
"""

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.folder import DESCRIPTION
from eyrie.compiler.frontend.file import REMEDY
from eyrie.compiler.options import MOST_IMAGES
from eyrie.model.errors import InputError
from eyrie.model.reading import check_readable

if TYPE_CHECKING:
    from eyrie.compiler.ir.failure import CompileError
    from eyrie.model.config import AcceleratorConfig
    from eyrie.runtime.report.about import About


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", metavar="NET", type=file_name, help="model, or folder of a compiled network")
    parser.add_argument("--input", type=file_name, metavar="X.npy", help="inputs, as eyrie run takes them (random)")
    parser.add_argument(
        "--seed", type=whole_number(0, 2**31 - 2), default=1, help="seed of the start values and of a random input (1)"
    )
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters, for a model"
    )
    parser.add_argument(
        "--batch", type=whole_number(1, MOST_IMAGES), default=1, metavar="N", help="images of a run, for a model"
    )


def run(options: argparse.Namespace) -> int:
    is_compiled = options.network.is_dir()
    if not is_compiled:
        check_readable(options.network, f"{REMEDY} or a compiled network")
    elif options.config or options.batch > 1:
        raise InputError("--config and --batch are for a model: a compiled network has its own; leave them out")
    import numpy as np

    from eyrie.compiler.command import why_in_parts
    from eyrie.compiler.frontend.file import load
    from eyrie.compiler.ir.image import Image
    from eyrie.model.config import DEFAULT, AcceleratorConfig
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.networks import read_inputs
    from eyrie.runtime.programs import compiled
    from eyrie.runtime.results import report_line
    from eyrie.runtime.session import golden_outputs, read_session_inputs
    from eyrie.runtime.soc.runs import reported

    program = options.network
    if is_compiled and (program / DESCRIPTION).exists():
        return _profile_parts(options)
    if not is_compiled:
        config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
        graph = load(options.network)
        given = read_session_inputs(options.input, graph) if options.input else []
        try:
            program = compiled(options.network, config, options.batch)
        except InputError as error:
            return _profile_parts(options, config, why_in_parts(error, options.network, options.batch))
    image = Image.load(program)
    shapes = {name: place.shape for name, place in image.inputs.items()}
    if options.input and is_compiled:
        inputs = read_inputs(options.input, shapes)
    elif options.input:
        by_name = {tensor.name: values for tensor, values in zip(graph.inputs, given)}
        inputs = [by_name[name].reshape(-1, *shape) for name, shape in shapes.items()]
    else:
        rng = np.random.default_rng(options.seed)
        inputs = [rng.integers(-128, 128, (image.images, *shape)).astype(np.int8) for shape in shapes.values()]
    golden = None
    if not is_compiled:
        made = golden_outputs(graph, dict(zip(shapes, inputs)))
        golden = [
            values.reshape(len(values), *place.shape)
            for values, place in zip(made, image.outputs.values(), strict=True)
        ]
    target = BUILD / "profile"
    with replacing(target) as folder:
        _, summary = reported(folder, "profile", _about(options), program, inputs, options.seed, golden)
    _print(summary)
    print(report_line(target))
    return _verdict(summary)


def _about(options: argparse.Namespace) -> "About":
    from eyrie.runtime.report.about import About

    return About(f"Profile of {options.network.stem}", options.network.name)


def _profile_parts(
    options: argparse.Namespace, config: "AcceleratorConfig | None" = None, failure: "CompileError | None" = None
) -> int:
    """Profile a split network. config: configuration to compile a model for, None for a folder; failure: the reason why
    the model is split."""
    from eyrie.compiler.parts import compile_parts
    from eyrie.runtime import progress
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.results import report_line
    from eyrie.runtime.session import Session, random_inputs, read_session_inputs
    from eyrie.runtime.soc.runs import parts_reported

    with replacing(BUILD / "profile") as folder:
        network = options.network
        if config:
            with progress.task(f"compiling {network.name}") as task:
                compiled = compile_parts(network, config, on_stage=task.say, failure=failure)
            compiled.save(network := folder / "network")
        session = Session.load(network)
        inputs = (
            read_session_inputs(options.input, session.graph)
            if options.input
            else random_inputs(session.graph, 1, options.seed)
        )
        _, summary, pages = parts_reported(
            folder, "profile", _about(options), session, inputs, options.seed, session.golden(inputs)
        )
    for part in summary["parts"]:
        _print(part)
        print()
    print(f"cycles {summary['cycles']:,}, {100 * summary['host_share']:.3f} % of all operations on the host")
    for page in pages:
        print(report_line(BUILD / "profile" / page))
    return _verdict(summary)


def _print(summary: dict) -> None:
    from eyrie.runtime import metrics

    tables = (metrics.layer_table(summary), metrics.bars(summary), metrics.unit_table(summary), metrics.ratios(summary))
    print("\n\n".join(tables))


def _verdict(summary: dict) -> int:
    """Print the result of the comparison and return the exit code."""
    if "match" in summary:
        print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["status"] == "pass" else 1
