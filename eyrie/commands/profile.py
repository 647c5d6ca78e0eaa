# SPDX-License-Identifier: Apache-2.0
"""Run a network on the simulated RTL and print its cycles by layer and unit.

    eyrie profile NET [--input X.npy] [--seed N] [--config FILE] [--batch N] [--suggest]

NET is a model, or a folder that `eyrie compile` wrote. X is an input as for `eyrie run`; the default is random. The
command prints cycles, bytes and the states of each unit by layer, and why layers are slow. It leaves summary.json and
report.html in build/profile. --suggest predicts slow layers with other configurations, more images and fewer channels,
and prints the changes that make them faster; it compiles the network up to eight times. If the network is split between
accelerator and CPU, each accelerator part has a table and a report of its own. The outputs are compared with the golden
model's, and the exit code is 1 if they differ.
"""

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.frontend.file import REMEDY
from eyrie.compiler.options import MOST_IMAGES, MOST_SEED
from eyrie.model.errors import InputError
from eyrie.model.reading import check_readable

if TYPE_CHECKING:
    from eyrie.compiler.artefact.network import CompiledNetwork
    from eyrie.runtime.report.about import About


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", metavar="NET", type=file_name, help="model, or folder of a compiled network")
    parser.add_argument("--input", type=file_name, metavar="X.npy", help="inputs, as eyrie run takes them (random)")
    parser.add_argument(
        "--seed", type=whole_number(0, MOST_SEED), default=1, help="seed of the start values and of a random input (1)"
    )
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters, for a model"
    )
    parser.add_argument(
        "--batch", type=whole_number(1, MOST_IMAGES), default=1, metavar="N", help="images of a run, for a model"
    )
    parser.add_argument(
        "--suggest", action="store_true", help="predict changes that make slow layers faster, for a model"
    )


def run(options: argparse.Namespace) -> int:
    is_compiled = options.network.is_dir()
    if not is_compiled:
        check_readable(options.network, f"{REMEDY} or a compiled network")
    elif options.config or options.batch > 1 or options.suggest:
        raise InputError("--config, --batch and --suggest are for a model: leave them out for a compiled network")
    from eyrie.compiler.artefact import files
    from eyrie.runtime.back_ends.golden import golden_outputs
    from eyrie.runtime.back_ends.rtl import Rtl
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.inputs import random_inputs, read_inputs
    from eyrie.runtime.results import report_line, reported

    target = BUILD / "profile"
    with replacing(target) as folder:
        network = files.load(options.network) if is_compiled else _compiled(options)
        graph = network.signature
        if options.input:
            inputs = read_inputs(options.input, network.arguments)
        else:
            inputs = random_inputs(graph, network.images, options.seed)
        golden = golden_outputs(network.graph, inputs) if network.graph else None
        rtl, suggested = Rtl(options.seed), _suggestions(options, network)
        _, summary, pages = reported(folder, "profile", _about(options), network, inputs, rtl, golden, suggested)
    for part in summary.get("parts", [summary]):
        _print(part)
        print()
    if "parts" in summary:
        print(f"cycles {summary['cycles']:,}, {100 * summary['host_share']:.3f} % of all operations on the host")
    for page in pages:
        print(report_line(target / page))
    return _verdict(summary)


def _compiled(options: argparse.Namespace) -> "CompiledNetwork":
    """Compile a model."""
    from eyrie.compiler.artefact import files
    from eyrie.compiler.frontend.file import load
    from eyrie.model.config import DEFAULT, AcceleratorConfig
    from eyrie.runtime.inputs import read_inputs
    from eyrie.runtime.programs import compiled

    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    if options.input:  # check it before the work
        read_inputs(options.input, load(options.network).arguments)
    return files.load(compiled(options.network, config, options.batch))


def _suggestions(options: argparse.Namespace, network: "CompiledNetwork") -> list[dict[str, list[dict]]]:
    """Return the suggestions for each program by layer, an empty list without --suggest."""
    if not options.suggest:
        return []
    from eyrie.measure.suggestions import suggestions

    return suggestions(options.network, network)


def _about(options: argparse.Namespace) -> "About":
    from eyrie.runtime.report.about import About

    return About(f"Profile of {options.network.stem}", options.network.name)


def _print(summary: dict) -> None:
    from eyrie.runtime import metrics
    from eyrie.runtime.reasons.slow import slow_layers

    tables = (metrics.layer_table(summary), metrics.bars(summary), metrics.unit_table(summary))
    print("\n\n".join([*tables, slow_layers(summary), metrics.ratios(summary)]))


def _verdict(summary: dict) -> int:
    """Print the result of the comparison and return the exit code."""
    if "match" in summary:
        print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["status"] == "pass" else 1
