# SPDX-License-Identifier: Apache-2.0
"""Registered buffers: greedy tiles, automatic double buffering, and the gap to plans that are searched for."""

from pathlib import Path

from eyrie.compiler.buffers.nests import Nest
from eyrie.compiler.buffers.partition import Partition, Partitioner
from eyrie.compiler.network import compile_greedily, compile_network
from eyrie.compiler.performance import performance
from eyrie.compiler.results import Built, reached
from eyrie.measure.studies import doubling
from eyrie.measure.studies.section import Row, Section, Table
from eyrie.runtime.bundled import MODEL

SOURCE = """H. Lan, The study of the programming method for deep learning processors (in Chinese), dissertation,
University of Chinese Academy of Sciences, 2018, chapter 5: registered buffers, greedy partition and automatic double
buffering. docs/howto/buffers.md describes its use in Eyrie."""
SEARCHED, SEARCHED_ON = "alexnet", "ACC-C"  # the network and the accelerator for which all tiles are tried


def section(folder: Path) -> Section:
    """folder: not used."""
    known = doubling.networks()
    found = doubling.tables(known)
    return Section("Registered buffers", SOURCE, (*found, _tiles(known[SEARCHED]), _plans()))


def _tiles(nests: list[Nest]) -> Table:
    tree, tried, shares = doubling.machine(SEARCHED_ON), {"greedy": 0, "exhaustive": 0}, []
    for nest in nests:
        cycles = {}
        for name in tried:
            partitioner = Partitioner(nest, tree, doubled=False)
            partition: Partition = getattr(partitioner, name)()
            cycles[name] = partitioner.cycles(partition, 1)
            tried[name] += partitioner.tried
        shares.append(100 * cycles["exhaustive"] / cycles["greedy"])
    rows = (
        Row(
            "tiles tried by exhaustion / by the greedy choice, AlexNet without LRN",
            "161.44",
            f"{tried['exhaustive'] / tried['greedy']:.2f}: {tried['exhaustive']:,}, {tried['greedy']:,}",
            "here a size is tried once if several numbers of tiles have it",
        ),
        Row(
            "transfers of the best tiles / of the greedy tiles, layer by layer",
            "greedy tiles use memory well",
            f"{', '.join(f'{share:.1f}' for share in shares)} %",
            "the text has no number",
        ),
    )
    text = f"""On {SEARCHED_ON}. All tiles that fit are compared by the cycles of loads and stores, as in the text."""
    return Table("Greedy partition, section 5.2.5.3", text, rows)


def _plans() -> Table:
    greedy, exact = (performance(reached(each(MODEL), Built)) for each in (compile_greedily, compile_network))
    row = Row(
        f"{MODEL.stem}, relative to the plan of the search: performance",
        "70.8 % to 97.7 % of instructions by hand",
        f"{100 * exact.cycles / greedy.cycles:.1f} %: {greedy.cycles:,} cycles and {greedy.dram_bytes:,} DRAM bytes, "
        f"planned {exact.cycles:,} and {exact.dram_bytes:,}",
        "on three other configurations in the text",
    )
    text = """Predicted cycles of the accelerator. The greedy plan (`eyrie ir --greedy`) runs each fused operator
alone, from DRAM to DRAM, in the largest tiles that fit, and loads the next tile meanwhile. It is compared with the
plan of the compiler's search."""
    return Table("Greedy plans on the array, section 5.3.2.3", text, (row,))
