# SPDX-License-Identifier: Apache-2.0
"""Registered buffers: greedy tiles, automatic double buffering, and the gap to plans that are searched for."""

from pathlib import Path

from eyrie.compiler.buffers import description
from eyrie.compiler.buffers.array import array_tree
from eyrie.compiler.buffers.network import Compiled, compiled
from eyrie.compiler.buffers.partition import Partition, Partitioner
from eyrie.compiler.frontend.file import load
from eyrie.compiler.network import compile_greedily, compile_network
from eyrie.compiler.options import SEARCH_ITERATIONS
from eyrie.compiler.performance import performance
from eyrie.compiler.pipeline import Built, reached
from eyrie.measure.networks import mobilenets
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table
from eyrie.model.config import DEFAULT
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import ROOT

SOURCE = """H. Lan, The study of the programming method for deep learning processors (in Chinese), dissertation,
University of Chinese Academy of Sciences, 2018, chapter 5: registered buffers, greedy partition and automatic double
buffering. docs/howto/buffers.md describes its use in Eyrie."""
SEARCHED = ("#0", "#9", "#10", "#22")  # operators of the bundled network whose tiles are all tried
SEARCHED_ON = "vectors"
NETWORKS = ("mobilenet_v1_0.25_96", "mobilenet_v2_0.35_96")
LITTLE = 80  # arrangements of the GLB that are tried for these, which is a tenth of what eyrie compile tries
OTHER_NETWORKS = "the mean of six other networks on its simulator"
GAINS = {"vectors": "3.29 % (Cambricon-X)", "systolic": "1.27 % (ShiDianNao)"}  # of section 5.3.2.3


def section(folder: Path) -> Section:
    """folder: for the networks that are compiled."""
    return Section("Registered buffers", SOURCE, (_doubling(), _tiles(), _plans(folder)))


def _configs() -> list:
    found = [description.load(path) for path in sorted((ROOT / "data" / "configurations").glob("*.buffers"))]
    return [array_tree(DEFAULT), *found]


def _doubling() -> Table:
    graph, rows = load(MODEL), []
    for tree in _configs():
        plain, doubled = compiled(graph, tree), compiled(graph, tree, True)
        gain = f"{100 * (plain.cycles / doubled.cycles - 1):.1f} %"
        printed = GAINS.get(tree.name, NOT_HAD)
        rows.append(
            Row(
                f"{tree.name}: faster by",
                printed,
                f"{gain}: {_said(plain)}, then {_said(doubled)}",
                OTHER_NETWORKS if tree.name in GAINS else "",
            )
        )
    text = """The bundled network with greedy partition, each operator from DRAM to DRAM, on the memory hierarchies of
`data/configurations/` and of the array. Cycles follow from these descriptions, without operators of the host. The
dissertation also has 6.56 % for Cambricon."""
    return Table("Double buffering, section 5.3.2.3", text, tuple(rows))


def _said(found: Compiled) -> str:
    return f"{found.cycles:,} cycles, {sum(found.moved.values()):,} bytes"


def _tiles() -> Table:
    tree = next(tree for tree in _configs() if tree.name == SEARCHED_ON)
    steps = [step for step in compiled(load(MODEL), tree).steps if step.node.where in SEARCHED]
    rows, tried = [], dict[str, int]()
    for step in steps:
        assert step.program is not None  # the accelerator has room for these operators
        cycles = {}
        for name in ("greedy", "exhaustive"):
            partitioner = Partitioner(step.program.nest, tree, doubled=False)
            partition: Partition = getattr(partitioner, name)()
            cycles[name] = partitioner.cycles(partition, 1)
            tried[name] = tried.get(name, 0) + partitioner.tried
        share = cycles["exhaustive"] / cycles["greedy"]
        rows.append(
            Row(
                f"{step.node.where} {step.node.operator.name}: transfers of the best tile / of the greedy one",
                NOT_HAD,
                f"{100 * share:.1f} %: {cycles['exhaustive']:,.0f}, {cycles['greedy']:,.0f} cycles",
            )
        )
    times = tried["exhaustive"] / tried["greedy"]
    rows.append(
        Row(
            "tiles tried by exhaustion / by the greedy choice",
            "161.44",
            f"{times:.2f}: {tried['exhaustive']:,}, {tried['greedy']:,}",
            "AlexNet there",
        )
    )
    text = f"""On {SEARCHED_ON}. For some operators of the bundled network all tiles that fit are compared by the
cycles of loads and stores, as in the text. It does not state the quality of the greedy tiles."""
    return Table("Greedy partition, section 5.2.5.3", text, tuple(rows))


def _plans(folder: Path) -> Table:
    paths, rows = {MODEL: SEARCH_ITERATIONS}, []
    for network in mobilenets.FAMILY:
        if network.name in NETWORKS:
            path = folder / f"{network.name}.tflite"
            path.write_bytes(mobilenets.model(network))
            paths[path] = LITTLE
    for path, search_iterations in paths.items():
        greedy, exact = (
            performance(reached(each(path, search_iterations=search_iterations), Built))
            for each in (compile_greedily, compile_network)
        )
        rows.append(
            Row(
                f"{path.stem}: performance",
                "70.8 % to 97.7 %",
                f"{100 * exact.cycles / greedy.cycles:.1f} %: "
                f"{greedy.cycles:,} cycles and {greedy.dram_bytes:,} DRAM bytes, planned {exact.cycles:,} and "
                f"{exact.dram_bytes:,}",
                "in the text: relative to hand-written instructions, on three other configurations",
            )
        )
    text = """Predicted cycles of the accelerator. The greedy plan (`eyrie ir --greedy`) runs each fused operator
alone, from DRAM to DRAM, in the largest tiles that fit, and loads the next tile meanwhile. It is compared with the
plan of the compiler's search. The second and third network use `--search-iterations 80` to save time."""
    return Table("Greedy plans on the array, section 5.3.2.3", text, tuple(rows))
