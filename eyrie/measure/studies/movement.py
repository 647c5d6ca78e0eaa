# SPDX-License-Identifier: Apache-2.0
"""Data-movement elimination and bank mapping: the figures of the text's section 3."""

from pathlib import Path

from eyrie.compiler.network import compile_until
from eyrie.compiler.results import Request, Simplified, reached
from eyrie.compiler.study.banks import Array, everywhere, local
from eyrie.compiler.study.pairs import pairs
from eyrie.measure.networks import resnet50, wavenet
from eyrie.measure.studies.section import Row, Section, Table, compared

SOURCE = """Optimizing memory-access patterns for deep learning accelerators, arXiv:2002.12798, section 3.
docs/research/movement.md has the definitions and assumptions."""
READ_BANKS, RESULT_BANKS = 2048, (32, 64, 128, 256, 512, 1024, 2048)  # of a convolution's input, and of its result

NETWORK = wavenet.Wavenet()


def section(folder: Path) -> Section:
    """folder: for the networks that are compiled."""
    return Section("Data movement", SOURCE, (_wavenet(folder), _resnet50(folder)))


def _wavenet(folder: Path) -> Table:
    path = folder / "wavenet.tflite"
    path.write_bytes(wavenet.model(NETWORK))
    work = reached(compile_until("moves", Request(path)), Simplified)
    before, after = pairs(work.graph), pairs(work.folded)
    count, stored = len(before) - len(after), [sum(pair.bytes for pair in found) for found in (before, after)]
    one, other = (local(graph, Array()) for graph in (work.graph, work.folded))
    text = f"""Our network follows the published description, with as many blocks as give 124 pairs: {NETWORK.channels}
channels of 8 bits, {NETWORK.samples} samples. The text does not list the pairs of Parallel WaveNet, nor its samples.
Copies are counted with local mapping."""
    return Table(
        "WaveNet",
        text,
        (
            compared("load-store pairs", "124", f"{len(before)}"),
            compared("pairs left out", "123", f"{count}"),
            Row(
                f"{NETWORK.channels} channels, {NETWORK.samples} samples: bytes of their tensors",
                "146 MB",
                f"{stored[0]:,}, {stored[0] / NETWORK.samples:,.0f} for each sample",
                f"146 MB are {146e6 / stored[0] * NETWORK.samples:,.0f} samples of this network",
            ),
            Row("bytes left out", "145 MB, 99.3 %", f"{stored[0] - stored[1]:,}, {_share(*stored)}"),
            Row(
                "bytes copied on chip, and loaded and stored, of an accelerator that the text does not describe",
                "10 % less, 11 % less",
                f"{one.on_chip:,} to {other.on_chip:,}, {_changed(one.on_chip, other.on_chip)}; "
                f"{one.off_chip:,} to {other.off_chip:,}, {_changed(one.off_chip, other.off_chip)}",
                "with local mapping, a tensor that more operators read directly is loaded for each",
            ),
        ),
    )


def _resnet50(folder: Path) -> Table:
    path = folder / "resnet50.tflite"
    path.write_bytes(resnet50.model())
    graph, rows = reached(compile_until("passes", Request(path)), Simplified).folded, []
    for banks in RESULT_BANKS:
        array = Array(READ_BANKS, banks)
        one, whole = local(graph, array), everywhere(graph, array)
        rows.append(
            Row(
                f"on chip, results in {banks} banks",
                "76 % less",
                f"{one.on_chip:,} to {whole.on_chip:,} bytes, {_share(one.on_chip, whole.on_chip)} less",
            )
        )
    rows.append(
        Row(
            "off chip",
            "37 % less",
            f"{one.off_chip:,} to {whole.off_chip:,} bytes, {_share(one.off_chip, whole.off_chip)} less",
        )
    )
    text = f"""Copies with mappings propagated through the network, compared with a mapping for each operator alone, on
an array that reads from {READ_BANKS:,} banks. On chip the result depends on the number of banks for a result, which the
text does not state: results of at most so many channels need no copy. No number of banks gives 76 %, since only some
numbers of channels occur."""
    return Table("ResNet-50, bank mapping", text, tuple(rows))


def _changed(before: int, after: int) -> str:
    return f"{_share(before, after)} less" if after <= before else f"{100 * (after / before - 1):.1f} % more"


def _share(before: int, after: int) -> str:
    return f"{100 * (1 - after / before):.1f} %"
