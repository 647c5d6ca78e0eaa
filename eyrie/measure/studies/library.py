# SPDX-License-Identifier: Apache-2.0
"""A library and an assembly language for deep learning processors: efficiency of layers, lines of code."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.assemble import assemble_file, disassembled
from eyrie.measure.operator_layers import LAYERS, Layer, measured
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table

SOURCE = """Y. Du, thesis on the programming of deep learning processors, chapters 3 (DLPlib, on Cambricon-X) and 4
(HLAL, on Cambricon-ACC). The thesis has the throughput relative to hand-written instructions. No such instructions
exist for this configuration. This page has the share of the roofline instead, which they could not exceed. It is
computed from predicted cycles of the default configuration. `eyrie operators` (docs/howto/operators.md) also measures
the RTL."""
LONGEST = ("Conv1", "Conv2")
STUDIED = (
    *(layer for layer in LAYERS if layer.name not in LONGEST),
    Layer("pool1", "pooling", 28, 512, 512, 2, 2),  # these of table 4.6, whose fc2 is FC1
    Layer("pool2", "pooling", 56, 256, 256, 2, 2),
    Layer("fc1", "fully_connected", 1, 9216, 4096),
    Layer("fc3", "fully_connected", 1, 4096, 1024),
)
LONG = "takes minutes to compile: `eyrie operators --layers Conv1,Conv2`, docs/howto/operators.md"
GPU = "of a GPU at full size; this configuration is simulated, at a clock of its own"
LRN = "no operator of an int8 network"
NO_TRAINING = "the accelerator runs inference only"
NETWORK = "takes too long to compile for this page: `eyrie classics` makes it, `eyrie compile` has its share"
BY_HAND = "hand-written instructions without overlap; this configuration has none"
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


@dataclass(frozen=True)
class Found:
    """Of a layer, predicted."""

    cycles: int
    roofline_cycles: int

    @property
    def share(self) -> float:
        return self.roofline_cycles / self.cycles


def section(folder: Path) -> Section:
    """folder: for sources of assembly."""
    return tables({layer.name: of_layer(layer) for layer in STUDIED}, folder)


def tables(layers: dict[str, Found], folder: Path) -> Section:
    """The section of what was found of the layers, by name; folder: for sources of assembly."""
    return Section("A library and an assembly language", SOURCE, (_library(layers), _assembly(layers), _lines(folder)))


def of_layer(layer: Layer) -> Found:
    summary = measured(layer, most_cycles=0).summary
    return Found(summary["predicted_cycles"], summary["roofline_cycles"])


def _library(layers: dict[str, Found]) -> Table:
    text = """The layers of table 3.5. Table 3.3 counts publications by algorithm, and figure 3.8 is a picture."""
    return Table(
        "Library, section 3.7",
        text,
        (
            Row(f"convolution: {', '.join(LONGEST)}", "77 to 93 %", NOT_HAD, LONG),
            Row("fully connected: FC1, FC2", "89 to 90 %", _each(layers, "FC1", "FC2")),
            Row("pooling: Pool1, Pool2", "56 to 81 %", _each(layers, "Pool1", "Pool2")),
            Row("LRN", "78 %", NOT_HAD, LRN),
            Row("AlexNet", "78 %", NOT_HAD, f"{NETWORK}, without LRN"),
            Row("VGG-16", "75 %", NOT_HAD, NETWORK),
            Row("mean of the nine", "79 %", NOT_HAD, "of nine, five of which are not here"),
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
                Row(name, {"conv3": "74 %, the worst"}.get(name, NOT_HAD), _whole(layers[known]))
                for name, known in names.items()
            ),
            Row("best layer", "98 %, an FC", f"{_percent(shares[best])}, {best}"),
            Row("lrn, lstm", NOT_HAD, NOT_HAD, f"lrn: {LRN}; lstm: not among the operators that the compiler reads"),
            Row(
                "mean of the ten, forward",
                "95 %",
                _percent(_mean([layers[known] for known in names.values()])),
                "of eight, without lrn and lstm",
            ),
            Row("mean of the ten, backward", "96 %", NOT_HAD, NO_TRAINING),
            Row("against simple instructions: forward, AlexNet, VGG-16", "1.20 x, 1.16 x, 1.09 x", NOT_HAD, BY_HAND),
            Row("against simple instructions, backward", "1.14 x", NOT_HAD, NO_TRAINING),
            Row("against a GPU: forward, backward", "2.90 x, 3.57 x", NOT_HAD, GPU),
        ),
    )


def _lines(folder: Path) -> Table:
    (two, _), (one, commands) = (_assembled(text, folder) for text in (TWO_LAYERS, ONE_LAYER))
    text = """The commands of a layer are the output of `eyrie asm --disassemble`, with a line for each transfer, pass
and descriptor word. The published instructions have loops, and the commands do not."""
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
