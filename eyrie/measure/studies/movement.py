# SPDX-License-Identifier: Apache-2.0
"""Data-movement elimination and bank mapping: the figures of the text's section 3."""

from pathlib import Path

from eyrie.compiler.network import compile_until
from eyrie.compiler.pipeline import Request, Simplified, reached
from eyrie.compiler.study.banks import Array, everywhere, local
from eyrie.compiler.study.pairs import pairs
from eyrie.measure.networks import resnet50, wavenet
from eyrie.measure.studies.section import Row, Section, Table

SOURCE = """Optimizing memory-access patterns for deep learning accelerators, arXiv:2002.12798, section 3.
docs/research/movement.md has the definitions and assumptions."""
RESULT_BANKS = (64, 128)  # that a convolution's result can be written to


def section(folder: Path) -> Section:
    """folder: for the networks that are compiled."""
    return Section("Data movement", SOURCE, (_wavenet(folder), _resnet50(folder)))


def _wavenet(folder: Path) -> Table:
    path = folder / "wavenet.tflite"
    path.write_bytes(wavenet.model(wavenet.Wavenet()))
    work = reached(compile_until("moves", Request(path)), Simplified)
    before, after = pairs(work.graph), pairs(work.folded)
    count, stored = len(before) - len(after), [sum(pair.bytes for pair in found) for found in (before, after)]
    text = """Our network follows the published description, with as many blocks as give 124 pairs. The text does not
list the pairs of Parallel WaveNet, nor the number of samples."""
    return Table(
        "WaveNet",
        text,
        (
            Row("load-store pairs", "124", f"{len(before)}"),
            Row("pairs left out", "123", f"{count}"),
            Row("bytes of their tensors", "146 MB", f"{stored[0]:,}"),
            Row("bytes left out", "145 MB, 99.3 %", f"{stored[0] - stored[1]:,}, {_share(stored[0], stored[1])}"),
            Row(
                "copies on chip, off chip left out",
                "10 %, 11 %",
                "-",
                "of all copies of a network and accelerator that the "
                "text does not describe; here only the remaining pair is copied",
            ),
        ),
    )


def _resnet50(folder: Path) -> Table:
    path = folder / "resnet50.tflite"
    path.write_bytes(resnet50.model())
    graph, rows = reached(compile_until("passes", Request(path)), Simplified).folded, []
    for banks in RESULT_BANKS:
        one, whole = local(graph, Array(columns=banks)), everywhere(graph, Array(columns=banks))
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
    text = """Copies with mappings propagated through the network, compared with a mapping for each operator alone. On
chip the result depends on the number of banks for a result, which the text does not state."""
    return Table("ResNet-50, bank mapping", text, tuple(rows))


def _share(before: int, after: int) -> str:
    return f"{100 * (1 - after / before):.1f} %"
