# SPDX-License-Identifier: Apache-2.0
"""The published design of the same network and size: its layer table beside ours."""

import re
from pathlib import Path

import numpy as np

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.frontend import tflite
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.network import compile_network
from eyrie.compiler.operators.weights import Weighted
from eyrie.compiler.performance import Layer, Performance, performance
from eyrie.compiler.results import Built
from eyrie.compiler.study.run_length import RUN_BITS, coded_bytes
from eyrie.measure.networks import mobilenets, resnet50
from eyrie.measure.networks.classics import CLASSICS
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.report.baseline import published_layers

SOURCE = """The baseline is a student design of an Eyeriss accelerator with 6 x 8 PEs and 64 KiB for MobileNetV1 on
CIFAR-10 (`data/reference/baseline.csv`). Eyrie started from it. It is an analytical model without the requantisation
between the two halves of a block. Our numbers are predictions for the default configuration, as `eyrie compile` prints
them. docs/concepts/cost.md has the error of predictions."""
COLUMNS = (  # what, the table's column, ours
    ("cycles", "latency_cycles", lambda layer: layer.predicted_cycles),
    ("DRAM bytes", "dram_access_B", lambda layer: layer.dram_bytes),
    ("GLB bytes", "glb_access_B", lambda layer: layer.glb_bytes),
    ("MACs", "macs_as_published", lambda layer: layer.macs),
)
POWER, CLOCK_HZ = "21,950.9", 200e6  # of the FC layer, in uW; the clock that gives this power
SEED = 1  # of the random image
FIGURES = ", ".join(what for what, *_ in COLUMNS)


def section(folder: Path) -> Section:
    """folder: not used."""
    stages = compile_network(MODEL)
    found = performance(stages)
    return Section(
        "The baseline, layer by layer",
        SOURCE,
        (_layers(found), _directions(stages, found), _sums(found), _model(), _models()),
    )


def _layers(found: Performance) -> Table:
    rows = []
    for row, layer in zip(published_layers(), found.layers, strict=True):
        printed = ", ".join(f"{int(row[column]):,}" for _, column, _ in COLUMNS)
        ours = ", ".join(f"{value(layer):,}" for *_, value in COLUMNS)
        rows.append(Row(f"{layer.name}: {FIGURES}", printed, ours, _note(row, layer)))
    text = "DRAM bytes of a layer do not include commands. Its cycles begin at the end of the previous layer."
    return Table("Layers", text, tuple(rows))


def _note(row: dict[str, str], layer: Layer) -> str:
    return (
        ""
        if int(row["macs_as_published"]) == layer.macs
        else ("the table counts more MACs if depthwise layers have stride 2 or are widened")
    )


def _directions(stages: Built, found: Performance) -> Table:
    rows, counted = [], by_layer(stages.image)
    energies = [
        energy_uj(counts, layer.predicted_cycles, found.clock_hz)
        for layer, counts in zip(found.layers, counted, strict=True)
    ]
    for row, layer, counts, energy in zip(published_layers(), found.layers, counted, energies, strict=True):
        printed = [f"{int(row[f'{memory}_{way}_B']):,}" for memory in ("dram", "glb") for way in ("read", "write")]
        ours = [
            f"{count:,}"
            for count in (
                counts["DRAM_READ_BYTES"],
                counts["DRAM_WRITE_BYTES"],
                glb_read_bytes(counts),
                glb_write_bytes(counts),
            )
        ]
        rows.append(
            Row(
                f"{layer.name}: DRAM read, written, GLB read, written, energy in uJ",
                ", ".join([*printed, f"{float(row['energy_uJ']):.1f}"]),
                ", ".join([*ours, f"{energy:.1f}"]),
            )
        )
    uses = ", ".join(f"{int(row['glb_usage_B']):,}" for row in published_layers())
    rows.append(
        Row(
            "bytes of the GLB in use, layer by layer, here with maps and weights of neighbouring layers",
            uses,
            ", ".join(f"{count:,}" for count in glb_usage(stages)),
            "the maximum over the tiles of the layer",
        )
    )
    last, layer = published_layers()[-1], found.layers[-1]
    rows.append(
        Row(
            f"{layer.name}: power in uW, here at {found.clock_hz / 1e6:.0f} MHz",
            POWER,
            f"{energies[-1] * found.clock_hz / layer.predicted_cycles:,.0f}",
            f"{float(last['energy_uJ']):.1f} uJ in {float(last['latency_cycles']) / CLOCK_HZ * 1e3:.1f} ms "
            f"there, its cycles at {CLOCK_HZ / 1e6:.0f} MHz",
        )
    )
    return Table(
        "Reads and writes",
        "Energy with the same energy per access (docs/concepts/cost.md), ours without zero skipping.",
        tuple(rows),
    )


def glb_usage(stages: Built) -> list[int]:
    """Return the bytes of the GLB in use by fused operator: the maximum over its tiles."""
    most: dict[int, int] = {}
    for number, job in enumerate(stages.plan.jobs):
        used = np.zeros(stages.config.glb_bytes // GLB_WORD_BYTES, bool)
        for buffer in stages.placed.buffers:
            if buffer.birth // 2 <= number <= buffer.death // 2:
                used[buffer.placed : buffer.placed + buffer.words] = True
        most[job.group] = max(most.get(job.group, 0), GLB_WORD_BYTES * int(used.sum()))
    return [most[group] for group in sorted(most)]


def _model() -> Table:
    accuracy = "the last figure of `eyrie accuracy`, data/mobilenetv1_cifar10/README.md"
    float_top1, int8_top1 = (_top1(name) for name in ("float", "int8"))
    return Table(
        "Model",
        "The model was trained again and has other weights. PyTorch's profile is for a CPU.",
        (
            Row("int8 model, MB", "1.117842", f"{MODEL.stat().st_size / 1e6:.6f}", "of the file"),
            Row("CIFAR-10 top-1, float, other weights", "87.33 %", float_top1, accuracy),
            Row("CIFAR-10 top-1, int8, other weights", "86.94 %", int8_top1, accuracy),
            *_run_lengths(),
        ),
    )


def _top1(name: str) -> str:
    """Return the accuracy that the model's page has of a network: `float` or `int8`."""
    [found] = re.findall(rf"^\| {name} \| ([\d.]+ %) \|", (MODEL.parent / "README.md").read_text(), re.M)
    return str(found)


def _run_lengths() -> tuple[Row, ...]:
    graph = load(MODEL)
    image = np.random.default_rng(SEED).integers(-128, 128, graph.input.shape).astype(np.int8)
    weights = [(node.operator.filters, 0) for node in graph.nodes if isinstance(node.operator, Weighted)]
    values = graph.run(image)
    maps = [
        (values[tensor.name], quantized(tensor).zero_point)
        for node in graph.nodes
        for tensor in node.outputs
        if tensor.dtype == "int8"
    ]
    rows = []
    for what, arrays in (("weights", weights), ("feature maps of a random image", maps)):
        raw = sum(array.size for array, _ in arrays)
        sizes = {bits: sum(coded_bytes(array, zero, bits) for array, zero in arrays) for bits in RUN_BITS}
        best, published = min(sizes, key=lambda each: sizes[each]), sizes[RUN_BITS[-1]]
        zeros = sum(int((array == zero).sum()) for array, zero in arrays)
        rows.append(
            Row(
                f"run-length coding, runs of {RUN_BITS[-1]} bits as in Eyeriss, {what}: bytes raw, coded, ratio",
                "fewer data are moved (text without number)",
                f"{raw:,}, {published:,}, {raw / published:.3f}; runs of {best} bits {raw / sizes[best]:.3f}",
                f"{100 * zeros / raw:.1f} % are zero; {best} is the best of {RUN_BITS[0]} to {RUN_BITS[-1]} bits",
                published < raw,
            )
        )
    return tuple(rows)


def _models() -> Table:
    made = (
        ("MobileNet (V2)", "3.5 M, 334.22 M", mobilenets.Mobilenet(2, 1.0, 224).model()),
        ("ResNet50", "25.6 M, 7.7 G", resnet50.model()),
        ("VGG16", "138 M, 30.9 G", CLASSICS["vgg16"]()),
    )
    rows = []
    for name, printed, model in made:
        graph = tflite.from_bytes(model)
        weights = sum(node.operator.filters.size for node in graph.nodes if isinstance(node.operator, Weighted))
        macs = sum(node.macs for node in graph.nodes)
        rows.append(
            Row(f"{name}: weights, FLOPs (two for a MAC)", printed, f"{weights / 1e6:.1f} M, {2 * macs / 1e9:.2f} G")
        )
    other = "SqueezeNet, EfficientNet B0, InceptionV3, DenseNet121, ConvNeXt Tiny"
    return Table(
        "Model comparison table",
        "Networks that this project generates, at 224 x 224.",
        (
            *rows,
            Row(
                f"{other}: weights, FLOPs",
                "1.2 M, 349 M; 5.3 M, 0.78 G; 23.8 M, 5.7 G; 8 M, 5.7 G; 28.6 M, 8.7 G",
                NOT_HAD,
                "this project generates no such network",
            ),
            Row(
                "ImageNet top-1, DRAM bytes",
                "57.5 to 82.1 %, 1 to 10 MB",
                NOT_HAD,
                'the networks above have random weights; "~1-3 MB on v2 with CSC compression" is another accelerator',
            ),
        ),
    )


def _sums(found: Performance) -> Table:
    sums = {
        column: sum(float(row[column]) for row in published_layers())
        for column in published_layers()[0]
        if column != "layer"
    }
    return Table(
        "Network",
        "",
        (
            Row("cycles", f"{sums['latency_cycles']:,.0f}", f"{found.cycles:,}"),
            Row("DRAM bytes", f"{sums['dram_access_B']:,.0f}", f"{found.dram_bytes:,}", "commands included"),
            Row("GLB bytes", f"{sums['glb_access_B']:,.0f}", f"{found.glb_bytes:,}"),
            Row(
                "energy, uJ",
                f"{sums['energy_uJ']:,.1f}",
                f"{found.energy_uJ:,.1f}",
                "with the same energy per access (docs/concepts/cost.md), ours without zero skipping",
            ),
        ),
    )
