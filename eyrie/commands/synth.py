# SPDX-License-Identifier: Apache-2.0
"""Print gates, registers and longest paths of the RTL by block, from synthesis with yosys and nextpnr.

    eyrie synth [--config FILE] [--blocks A,B] [--liberty FILE] [--memory A,B] [--unplaced]

The memories of rtl/tech are black boxes whose bits are counted; --memory names further such modules. Without a cell
library (Liberty format) the areas are estimates from yosys's own gates. Blocks that fit are placed and routed in an
ECP5 for a clock rate; --unplaced skips this step, which takes most of the time. Results: build/synth
(docs/research/synthesis.md; keys: docs/reference/summary.md).
"""

import argparse
from pathlib import Path

from eyrie.compiler.command_line import file_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")
    parser.add_argument("--blocks", default="", metavar="A,B", help="only these (all)")
    parser.add_argument("--liberty", type=Path, metavar="FILE", help="cell library to map to")
    parser.add_argument("--memory", default="", metavar="A,B", help="modules that count as memories, too")
    parser.add_argument("--unplaced", action="store_true", help="no clock rates in an ECP5")


def run(options: argparse.Namespace) -> int:
    from eyrie.model.config import DEFAULT, AcceleratorConfig
    from eyrie.runtime.folders import checkout
    from eyrie.runtime.synthesis.run import synthesise

    checkout("the sources of the chip")

    memories = tuple(name.strip() for name in options.memory.split(",") if name.strip())
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    print(synthesise(options.blocks, config, options.liberty, memories, not options.unplaced))
    return 0
