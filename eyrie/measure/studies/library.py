# SPDX-License-Identifier: Apache-2.0
"""A library and an assembly language for deep learning processors: efficiency of layers, lines of code."""

from pathlib import Path

import numpy as np

from eyrie.compiler.assemble import assemble_file, disassembled
from eyrie.measure.studies.compiled import Found, stored
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table

SOURCE = """Y. Du, thesis on the programming of deep learning processors, chapters 3 (DLPlib, on Cambricon-X) and 4
(HLAL, on Cambricon-ACC). The thesis has the throughput relative to hand-written instructions. No such instructions
exist for this configuration. This page has the share of the roofline instead, which they could not exceed. It is
computed from predicted cycles of the default configuration. `eyrie operators` (docs/howto/operators.md) also measures
the RTL."""
NINE = ("Conv1", "Conv2", "Pool1", "Pool2", "LRN", "FC1", "FC2", "alexnet", "vgg16")  # of table 3.5
GPU = "of a GPU at full size; this configuration is simulated, at a clock of its own"
LRN = "a table, a convolution that adds 5 of all channels, and a product"
NOTES = {"lrn": LRN, "lstm": "a step: four layers with 400 units, and the output"}
TWO_LAYERS = """input x 1024 scale=0.02
filter w1 w.npy scale=0.004
filter w2 w.npy scale=0.006
fc h x w1 scale=0.05 activation=RELU
fc y h w2 scale=0.1
output y
"""
ONE_LAYER = """input x 1024 scale=0.02
filter w1 w.npy scale=0.004
fc y x w1 scale=0.05
output y
"""


def section(folder: Path) -> Section:
    """folder: for sources of assembly."""
    return tables(stored(), folder)


def tables(layers: dict[str, Found], folder: Path) -> Section:
    """The section of what was found of the layers, by name; folder: for sources of assembly."""
    return Section("A library and an assembly language", SOURCE, (_library(layers), _assembly(layers), _lines(folder)))


def _library(layers: dict[str, Found]) -> Table:
    text = """The layers of table 3.5. Table 3.3 counts publications by algorithm, and figure 3.8 is a picture."""
    return Table(
        "Library, section 3.7",
        text,
        (
            Row("convolution: Conv1, Conv2", "77 to 93 %", _each(layers, "Conv1", "Conv2")),
            Row("fully connected: FC1, FC2", "89 to 90 %", _each(layers, "FC1", "FC2")),
            Row("pooling: Pool1, Pool2", "56 to 81 %", _each(layers, "Pool1", "Pool2")),
            Row("LRN", "78 %", _each(layers, "LRN"), LRN),
            Row("AlexNet", "78 %", _each(layers, "alexnet")),
            Row("VGG-16", "75 %", _each(layers, "vgg16")),
            Row("mean of the nine", "79 %", _percent(_mean([layers[name] for name in NINE]))),
            Row("against Caffe on a GPU", "4.1 x", NOT_HAD, GPU),
        ),
    )


def _assembly(layers: dict[str, Found]) -> Table:
    names = {
        "conv1": "conv1",
        "conv2": "conv2",
        "conv3": "conv3",
        "pool1": "pool1",
        "pool2": "pool2",
        "fc1": "fc1",
        "fc2": "FC1",
        "fc3": "fc3",
        "lrn": "lrn",
        "lstm": "lstm",
    }
    shares = {name: layers[known].share for name, known in names.items()}
    best = max(shares, key=lambda name: shares[name])
    text = """The layers of table 4.6. The text has the best and the worst result of each; the others are in a
picture. A source of layers compiles like its model (docs/reference/assembly.md)."""
    return Table(
        "Assembly, section 4.6.2",
        text,
        (
            *(
                Row(
                    name,
                    {"conv3": "74 %, the worst"}.get(name, "74 to 98 %"),
                    _whole(layers[known]),
                    NOTES.get(name, ""),
                )
                for name, known in names.items()
            ),
            Row("best layer", "98 %, an FC", f"{_percent(shares[best])}, {best}"),
            Row("mean of the ten, forward", "95 %", _percent(_mean([layers[known] for known in names.values()]))),
            Row(
                "backward: mean of the ten, against simple instructions, against a GPU",
                "96 %, 1.14 x, 3.57 x",
                NOT_HAD,
                "the accelerator runs inference only",
            ),
            Row("against a GPU, forward", "2.90 x", NOT_HAD, GPU),
        ),
    )


def _lines(folder: Path) -> Table:
    (two, _), (one, commands) = (_assembled(text, folder) for text in (TWO_LAYERS, ONE_LAYER))
    text = """The commands of a layer are the output of `eyrie asm --disassemble`, with a line for each transfer, pass
and descriptor word. The published instructions have loops, and the commands do not: a ratio of lines compares unlike
programs."""
    return Table(
        "Lines of code, section 4.6.3",
        text,
        (
            Row("two fully connected layers, 1,024 to 1,024 to 1,024: lines", "15", f"{two}"),
            Row("one of them in instructions: lines", "more than 50", f"{commands}"),
            Row("one of them: fewer lines", "3.33 x", f"{commands / one:.1f} x", f"{one} lines"),
            Row(
                "ResNet-34: fewer lines",
                "21.3 x",
                NOT_HAD,
                "takes too long to compile for this page: `eyrie asm DIR --disassemble`",
            ),
        ),
    )


def _assembled(text: str, folder: Path) -> tuple[int, int]:
    """Lines of a source, whose filters are of zeros, and of its commands."""
    made = folder / "assembled"
    np.save(folder / "w.npy", np.zeros((1024, 1024), np.int8))
    (folder / "net.s").write_text(text)
    assemble_file(folder / "net.s").save(made)
    return len(text.splitlines()), len(disassembled(made).splitlines())


def _each(layers: dict[str, Found], *names: str) -> str:
    return ", ".join(_percent(layers[name].share) for name in names)


def _whole(found: Found) -> str:
    return f"{_percent(found.share)}, {found.cycles:,} cycles"


def _mean(found: list[Found]) -> float:
    return sum(one.share for one in found) / len(found)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
