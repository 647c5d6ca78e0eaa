# SPDX-License-Identifier: Apache-2.0
"""What a compiled network will take, layer by layer: a table, layers.csv, summary.json (docs/reference/summary.md)."""

import csv
import io
import json
from dataclasses import asdict, dataclass

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import DRAM_BYTES, fetched_bytes, predict
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.cost.roofline import compulsory_bytes, roofline_cycles, step_bounds
from eyrie.compiler.emit.steps import Step
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.layer import Filtered, Group
from eyrie.compiler.ir.plan import Plan, Way
from eyrie.compiler.pipeline import Stages, made
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes


@dataclass(frozen=True)
class Layer:
    """A layer of the network, of all images of a run together.

    macs          multiplications, padding of the map included
    cycles        from the end of the layer before to its own
    bound_cycles  that it takes at least, and the bound that says so: multipliers or DRAM
    share         bound_cycles / cycles; above 1 where constants come while earlier layers run
    dram_bytes    of its constants, and of its maps as far as they lie there; without commands
    glb_bytes     read and written, transfers included
    ifmap, ofmap  where they lie; filters: how they come
    """

    name: str
    kind: str
    macs: int
    cycles: int
    bound_cycles: int
    bound: str
    share: float
    dram_bytes: int
    glb_bytes: int
    ifmap: str
    ofmap: str
    filters: str


@dataclass(frozen=True)
class Performance:
    """What a run of a compiled network will take.

    macs: multiplications of the network; energy_uJ: as if none had a zero operand
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
        """A line per layer, under the names of `Layer`."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(Layer.__annotations__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, self.layers))
        return out.getvalue()

    def __str__(self) -> str:
        """The table, and what it comes to."""
        whole = Layer(
            "network",
            "",
            self.macs,
            self.cycles,
            self.roofline_cycles,
            "",
            self.roofline_cycles / self.cycles,
            self.dram_bytes,
            self.glb_bytes,
            "",
            "",
            "",
        )
        heads = (
            "layer",
            "kind",
            "MACs",
            "cycles",
            "bound",
            "by",
            "share",
            "DRAM bytes",
            "GLB bytes",
            "ifmap",
            "ofmap",
            "filters",
        )
        rows = [heads, *(_cells(layer) for layer in (*self.layers, whole))]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join(
                cell.rjust(width) if n in _NUMBERS else cell.ljust(width)
                for n, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, "", *self._sums()])

    def _sums(self) -> list[str]:
        images = "an image" if self.images == 1 else f"{self.images} images"
        ratio = self.dram_bytes / self.compulsory_dram_bytes
        return [
            f"{self.milliseconds:.3f} ms for {images} at {self.clock_hz / 1e6:g} MHz, "
            f"{self.images_per_second:,.1f} images a second",
            f"DRAM {self.dram_bytes:,} bytes, {self.command_bytes:,} of them commands; {ratio:.3f} times the "
            f"compulsory {self.compulsory_dram_bytes:,}",
            f"energy {self.energy_uJ:.2f} uJ, if no multiplication has a zero operand",
        ]


_NUMBERS = {2, 3, 4, 6, 7, 8}  # columns


def _cells(layer: Layer) -> tuple[str, ...]:
    return (
        layer.name,
        layer.kind,
        f"{layer.macs:,}",
        f"{layer.cycles:,}",
        f"{layer.bound_cycles:,}",
        layer.bound,
        f"{100 * layer.share:.1f} %",
        f"{layer.dram_bytes:,}",
        f"{layer.glb_bytes:,}",
        layer.ifmap,
        layer.ofmap,
        layer.filters,
    )


def performance(stages: Stages) -> Performance:
    """Of a network that went through all stages."""
    image, config, plan, steps = made(stages.image), stages.config, made(stages.plan), made(stages.steps)
    counters = by_layer(image)
    window = max(DRAM_BYTES, image.dram.nbytes)
    prediction = predict(image, window)
    cycles, spans = prediction.cycles, [layer.cycles for layer in prediction.layers]
    layers = tuple(
        _layer(*parts, plan, image) for parts in zip(steps, image.map["steps"], spans, counters, strict=True)
    )
    total = {name: sum(of[name] for of in counters) for name in counters[0]}
    commands = fetched_bytes(image, window)
    read, written = total["DRAM_READ_BYTES"] + commands, total["DRAM_WRITE_BYTES"]
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


def _layer(step: Step, entry: dict, cycles: int, counters: dict[str, int], plan: Plan, image: Image) -> Layer:
    bounds = step_bounds(image, entry)
    bound = max(bounds, key=lambda name: bounds[name])
    ifmap, ofmap = _places(plan, step.index)
    return Layer(
        step.group.layer,
        _kind(step.group),
        step.macs,
        cycles,
        round(bounds[bound]),
        bound,
        round(bounds[bound] / cycles, 4),
        counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"],
        glb_read_bytes(counters) + glb_write_bytes(counters),
        ifmap,
        ofmap,
        step.filters if isinstance(step.group, Filtered) else "",
    )


def _kind(group: Group) -> str:
    done = [] if isinstance(group, Elementwise) else [operation.name for operation in group.operations]
    return " + ".join([group.kind, *(["average"] if group.averaged else []), *done])


def _places(plan: Plan, n: int) -> tuple[str, str]:
    """Where a group's input and output lie."""
    segment = plan.segment_of[n]
    ifmap = _place(plan.read[n].layout, n == segment.first and segment.from_dram)
    if segment.way is Way.IN_PLACE:
        return ifmap, "DRAM, in place of the ifmap" if segment.to_dram else "in place of the ifmap"
    ofmap = _place(plan.made[n].layout, n == segment.last - 1 and segment.to_dram)
    return ifmap, f"{ofmap}, in {segment.slices_of(n)} slices" if segment.slices_of(n) > 1 else ofmap


def _place(layout: FeatureMap, in_dram: bool) -> str:
    """in_dram: the GLB is only its way."""
    if in_dram:
        return "DRAM"
    return f"GLB, ring of {layout.ring_rows} rows" if layout.ring_rows < layout.rows else "GLB"
