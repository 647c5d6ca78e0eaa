# SPDX-License-Identifier: Apache-2.0
"""Print the scan-chain IDs of the multicast networks, and link_enable, for a mapping.

A convolution: --e --p --q --r --t, --kernel, --stride. Blocks of pixels (depthwise-separable
layers): --block-rows output rows, --block-cols blocks in each or --images images side by side; with
--pointwise no depthwise half, with --bands rows of a kernel of more than three.

    eyrie ids --e 8 --p 4 --q 4 --r 1 --t 2 -o ids.svg
    eyrie ids --block-rows 4 --block-cols 2 --stride 2

A PE receives a transfer if the row ID of its row and its own column ID equal the tags of the transfer; "-": a PE that
is not in use. IDs are shifted in from the last PE to the first. With -o the command also draws the array:
PEs of one colour receive the same transfers.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.target.scan_ids import IDLE, ScanIds, block_ids, convolution_ids
from eyrie.model.config import DEFAULT, DEPTHWISE_BANDS, SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.errors import InputError

CONVOLUTION = dict(p=1, q=WORD_CHANNELS, r=1, t=1, kernel=3)  # default sizes of a mapping beside e


def ids_of(options: argparse.Namespace) -> tuple[AcceleratorConfig, ScanIds]:
    """Raise InputError if the mapping does not fit."""
    config = AcceleratorConfig(rows=options.rows, cols=options.cols)
    stride = options.stride or 1
    if stride > 2:
        raise InputError(f"--stride {stride}: must be 1 or 2")
    given = [name for name in ("e", *CONVOLUTION) if getattr(options, name) is not None]
    if options.block_rows or options.block_cols or options.images:
        if given:
            raise InputError(f"--{given[0]} belongs to a convolution, not to blocks; leave one out")
        for name in ("stride", "bands"):
            if options.pointwise and getattr(options, name):
                raise InputError(f"--{name} has no meaning with --pointwise; leave it out")
        if (bands := options.bands or 1) > DEPTHWISE_BANDS:
            raise InputError(f"--bands {bands}: must be 1 to {DEPTHWISE_BANDS}")
        if options.block_cols and options.images:
            raise InputError("--images takes the place of --block-cols; leave one out")
        blocks = options.block_rows or 1, options.block_cols or 1
        ids = block_ids(config, *blocks, None if options.pointwise else stride, options.images or 0, bands)
    else:
        ids = _convolution(config, options, stride)
    Descriptor().set_ids(ids.rows, ids.columns)  # rejects IDs that the words do not hold
    return config, ids


def _convolution(config: AcceleratorConfig, options: argparse.Namespace, stride: int) -> ScanIds:
    if options.e is None:
        raise InputError("no mapping: give --e (and --p --q --r --t), or --block-rows and --block-cols")
    if options.pointwise:
        raise InputError("--pointwise goes with --block-rows and --block-cols")
    if options.bands:
        raise InputError("--bands goes with --block-rows and --block-cols")
    m: dict[str, int] = {name: getattr(options, name) or default for name, default in CONVOLUTION.items()}
    for what, demand, bound in (
        ("--kernel", m["kernel"], SET_ROWS),
        ("--q, channels of a PE", m["q"], WORD_CHANNELS),
        ("--r, sets over channels", m["r"], config.sets),
        (
            "--p times --kernel, filter words of a PE",
            m["p"] * m["kernel"],
            config.filter_words,
        ),
    ):
        if demand > bound:
            raise InputError(f"{what}: needs {demand}, has {bound}; reduce it")
    return convolution_ids(config, options.e, m["r"], m["t"], m["kernel"], stride)


def table(config: AcceleratorConfig, ids: ScanIds, network: str) -> str:
    """Row IDs and column IDs of one network, row by row."""
    heads = "".join(f"{f'c{col}':>4}" for col in range(config.cols))
    lines = [f"{network} network", f"        row ID |{heads}"]
    for row, pes in enumerate(ids.columns):
        cells = "".join(f"{'-' if pe == IDLE else pe[network]:>4}" for pe in pes)
        lines.append(f"  row {row:<2} {ids.rows[row][network]:>5} |{cells}")
    return "\n".join(lines)


def ln_text(config: AcceleratorConfig, ids: ScanIds) -> str:
    """link_enable and the stretches of rows that it joins."""
    cuts = [row for row in range(config.rows - 1) if not ids.link_enable >> row & 1]
    firsts, lasts = [0, *(cut + 1 for cut in cuts)], [*cuts, config.rows - 1]
    chains = ", ".join(f"{first}-{last}" for first, last in zip(firsts, lasts))
    return f"link_enable = 0b{ids.link_enable:0{config.rows - 1}b} (bit i joins row i to row i + 1): rows {chains}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, about in (
        ("e", "output rows in flight"),
        ("p", "filters of a PE"),
        ("q", "channels of a PE"),
        ("r", "PE sets over channels"),
        ("t", "PE sets over filters"),
        ("kernel", "filter rows"),
        ("stride", "1 or 2"),
        ("block-rows", "output rows of a block arrangement"),
        ("block-cols", "blocks of pixels in a row"),
        ("images", "images side by side"),
        ("bands", "bands of three rows of a depthwise kernel, whose ifmap rows come at once"),
    ):
        parser.add_argument(f"--{name}", type=whole_number(1), metavar="N", help=about)
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE.svg", help="picture of the array to write")
    parser.add_argument("--pointwise", action="store_true", help="pixels come from the GLB")
    for name, size in (("rows", DEFAULT.rows), ("cols", DEFAULT.cols)):
        parser.add_argument(f"--{name}", type=whole_number(1), default=size, metavar="N", help=f"{name} of the array")


def run(options: argparse.Namespace) -> None:
    config, ids = ids_of(options)
    if options.output:
        from eyrie.runtime.diagrams.array import array_svg

        check_file(options.output)
        with whole_file(options.output) as file:
            file.write(array_svg(config, ids).encode())
    tables = [table(config, ids, network) for network in ("ifmap", "filter")]
    print("\n\n".join([*tables, ln_text(config, ids)]))
