# SPDX-License-Identifier: Apache-2.0
"""The predicted performance of a compiled network by layer: a table, layers.csv and summary.json
(docs/reference/summary.md)."""

import csv
import io
import json
from dataclasses import asdict, dataclass

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import DRAM_BYTES, LayerCost, fetched_bytes, predict
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.cost.roofline import compulsory_bytes, roofline_cycles, step_bounds
from eyrie.compiler.emit.steps import Step
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.ir.layer import Filtered
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.pipeline import Stages, made
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes
from eyrie.model.messages import aligned


@dataclass(frozen=True)
class LayerEstimate:
    """The predicted cost of a layer, for all images of a run together.

    predicted_cycles  cycles of the PEs for the layer's passes, averaged over the PEs
    dram_bytes        bytes that the layer owns: weights, quantisation parameters, and its feature maps in DRAM
    glb_bytes         bytes read and written in the GLB, transfers included
    """

    predicted_cycles: int
    dram_bytes: int
    glb_bytes: int


@dataclass(frozen=True)
class Layer:
    """A layer of a compiled network, for all images of a run together.

    macs              MACs, padding of the feature map included
    predicted_cycles  as in LayerEstimate, and so are dram_bytes and glb_bytes
    mac_cycles        MACs / multipliers: a lower bound of the layer's cycles
    utilisation       mac_cycles / predicted_cycles
    dram_cycles       cycles of the DRAM port for dram_bytes, of which some may lie in the time of earlier layers
    roofline_cycles   the layer's part of the network's roofline
    ifmap, ofmap      memory of the feature maps; filters: memory of the filters
    """

    name: str
    kind: str
    macs: int
    predicted_cycles: int
    mac_cycles: int
    utilisation: float
    dram_bytes: int
    dram_cycles: int
    roofline_cycles: int
    glb_bytes: int
    ifmap: str
    ofmap: str
    filters: str


@dataclass(frozen=True)
class Performance:
    """The predicted cost of a run of a compiled network.

    macs: MACs of the network; energy_uJ: for operands without zeros
    """

    images: int
    clock_hz: int
    cycles: int
    roofline_cycles: int
    milliseconds: float
    images_per_second: float
    macs: int
    dram_read_bytes: int
    dram_write_bytes: int
    command_bytes: int
    compulsory_dram_bytes: int
    glb_read_bytes: int
    glb_write_bytes: int
    energy_uJ: float
    layers: tuple[Layer, ...]

    @property
    def dram_bytes(self) -> int:
        return self.dram_read_bytes + self.dram_write_bytes

    @property
    def glb_bytes(self) -> int:
        return self.glb_read_bytes + self.glb_write_bytes

    def json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    def csv(self) -> str:
        """Return a line per layer, under the names of `Layer`."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(Layer.__annotations__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, self.layers))
        return out.getvalue()

    def __str__(self) -> str:
        """Return the table of the layers, and the totals."""
        macs = sum(layer.mac_cycles for layer in self.layers)
        utilisation = f"{100 * macs / self.cycles:.1f} %"
        numbers = ("network", "", f"{self.macs:,}", f"{self.cycles:,}", f"{macs:,}", utilisation)
        whole = (*numbers, f"{self.dram_bytes:,}", "", f"{self.glb_bytes:,}", "", "", "")
        rows = [HEADS, *(_cells(layer) for layer in self.layers), whole]
        return "\n".join([*aligned(rows, left=_TEXTS), "", *self._sums()])

    def _sums(self) -> list[str]:
        images = "an image" if self.images == 1 else f"{self.images} images"
        ratio = self.dram_bytes / self.compulsory_dram_bytes
        return [
            f"{self.cycles:,} cycles predicted; the roofline of the network is {self.roofline_cycles:,} cycles",
            f"{self.milliseconds:.3f} ms for {images} at {self.clock_hz / 1e6:g} MHz, "
            f"{self.images_per_second:,.1f} images a second",
            f"DRAM {self.dram_bytes:,} bytes, {self.command_bytes:,} of them commands; {ratio:.3f} times the "
            f"compulsory {self.compulsory_dram_bytes:,}",
            f"energy {self.energy_uJ:.2f} uJ, if no MAC is zero-skipped",
        ]


HEADS = tuple(
    "layer,kind,MACs,predicted,MAC bound,utilisation,DRAM bytes,DRAM cycles,GLB bytes,ifmap,ofmap,filters".split(",")
)
_TEXTS = (0, 1, 9, 10, 11)  # columns


def _cells(layer: Layer) -> tuple[str, ...]:
    return (
        layer.name,
        layer.kind,
        f"{layer.macs:,}",
        f"{layer.predicted_cycles:,}",
        f"{layer.mac_cycles:,}",
        f"{100 * layer.utilisation:.1f} %",
        f"{layer.dram_bytes:,}",
        f"{layer.dram_cycles:,}",
        f"{layer.glb_bytes:,}",
        layer.ifmap,
        layer.ofmap,
        layer.filters,
    )


def estimates(image: Image, layers: list[LayerCost]) -> list[LayerEstimate]:
    """Return the estimates of an image's layers; layers: their predicted cycles."""
    return [
        LayerEstimate(
            cost.cycles,
            counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"],
            glb_read_bytes(counters) + glb_write_bytes(counters),
        )
        for cost, counters in zip(layers, by_layer(image), strict=True)
    ]


def performance(stages: Stages) -> Performance:
    """Return the predicted performance of a network that went through all stages."""
    image, config, plan, steps = made(stages.image), stages.config, made(stages.plan), made(stages.steps)
    window = max(DRAM_BYTES, image.dram.nbytes)
    prediction = predict(image, window)
    cycles, total = prediction.cycles, prediction.counters
    layers = tuple(
        _layer(*parts, plan, image)
        for parts in zip(steps, image.steps, estimates(image, prediction.layers), strict=True)
    )
    commands = fetched_bytes(image, window)
    read, written = total["DRAM_READ_BYTES"], total["DRAM_WRITE_BYTES"]
    glb_read, glb_written = glb_read_bytes(total), glb_write_bytes(total)
    energy = energy_uj(total["MACS"], glb_read + glb_written, read + written, cycles, config.clock_hz)
    return Performance(
        image.images,
        config.clock_hz,
        cycles,
        roofline_cycles(image),
        milliseconds=round(1e3 * cycles / config.clock_hz, 6),
        images_per_second=round(image.images * config.clock_hz / cycles, 3),
        macs=sum(layer.macs for layer in layers),
        dram_read_bytes=read,
        dram_write_bytes=written,
        command_bytes=commands,
        compulsory_dram_bytes=compulsory_bytes(image),
        glb_read_bytes=glb_read,
        glb_write_bytes=glb_written,
        energy_uJ=round(energy, 2),
        layers=layers,
    )


def _layer(step: Step, entry: ImageStep, estimate: LayerEstimate, plan: Plan, image: Image) -> Layer:
    bounds = step_bounds(image, entry)
    mac_cycles = step.macs / image.config.total_multipliers
    ifmap, ofmap = _places(plan, step.index)
    return Layer(
        step.group.layer,
        step.kind,
        step.macs,
        estimate.predicted_cycles,
        round(mac_cycles),
        round(mac_cycles / estimate.predicted_cycles, 4),
        estimate.dram_bytes,
        round(estimate.dram_bytes / (GLB_WORD_BYTES * image.config.bus_words)),
        round(max(bounds.values())),
        estimate.glb_bytes,
        ifmap,
        ofmap,
        step.filters if isinstance(step.group, Filtered) else "",
    )


def _places(plan: Plan, n: int) -> tuple[str, str]:
    """Return the memories that hold a fused operator's input and output."""
    segment = plan.segment_of[n]
    ifmap = _place(plan.read[n].layout, n == segment.first and segment.nest.from_dram)
    if segment.nest.in_place:
        return ifmap, "DRAM, in place of the ifmap" if segment.nest.to_dram else "in place of the ifmap"
    ofmap = _place(plan.made[n].layout, n == segment.last - 1 and segment.nest.to_dram)
    return ifmap, f"{ofmap}, in {segment.parts_of(n)} slices" if segment.parts_of(n) > 1 else ofmap


def _place(layout: FeatureMap, in_dram: bool) -> str:
    """Return the memory of a feature map. in_dram: it goes through the GLB to or from DRAM"""
    if in_dram:
        return "DRAM"
    return f"GLB, ring of {layout.ring_rows} rows" if layout.ring_rows < layout.rows else "GLB"
