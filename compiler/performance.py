# SPDX-License-Identifier: Apache-2.0
"""The prediction of a compiled network's performance."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from eyrie.compiler.artefact.performance import Layer, Performance
from eyrie.compiler.collection import no_collection
from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import DRAM_BYTES, LayerCost, fetched_bytes, predict
from eyrie.compiler.cost.roofline import compulsory_bytes, roofline_cycles, step_bounds
from eyrie.compiler.cost.traffic import saved_by_codes
from eyrie.compiler.emit.steps import Step
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.ir.layer import Filtered
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.plan.arrival import soonest
from eyrie.compiler.results import Built
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes

_known: WeakKeyDictionary[Built, Performance] = WeakKeyDictionary()


@dataclass(frozen=True)
class LayerEstimate:
    """The predicted cost of a layer, for all images of a run together.

    predicted_cycles  cycles in which the layer's passes hold the accelerator (cost/shares.py)
    dram_bytes        bytes that the layer owns: weights, quantisation parameters, and its feature maps in DRAM
    glb_bytes         bytes read and written in the GLB, transfers included
    """

    predicted_cycles: int
    dram_bytes: int
    glb_bytes: int


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


def performance(stages: Built) -> Performance:
    """Return the predicted performance of a network that went through all stages. It is computed once."""
    if stages not in _known:
        with no_collection():
            _known[stages] = _performance(stages)
    return _known[stages]


def _performance(stages: Built) -> Performance:
    image, config, plan, steps = stages.image, stages.config, stages.plan, stages.steps
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
    return Performance(
        image.images,
        config.clock_hz,
        cycles,
        roofline_cycles(image),
        round(stages.placed.cost / soonest(stages.placed.cycles, stages.placed.pieces, config) - 1, 4),
        milliseconds=round(1e3 * cycles / config.clock_hz, 6),
        images_per_second=round(image.images * config.clock_hz / cycles, 3),
        macs=sum(layer.macs for layer in layers),
        dram_read_bytes=read,
        dram_write_bytes=written,
        command_bytes=commands,
        saved_by_codes=saved_by_codes(total),
        compulsory_dram_bytes=compulsory_bytes(image),
        glb_read_bytes=glb_read,
        glb_write_bytes=glb_written,
        energy_uJ=round(prediction.energy_uj(config.clock_hz), 2),
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
        round(mac_cycles / max(estimate.predicted_cycles, 1), 4),
        estimate.dram_bytes,
        round(estimate.dram_bytes / image.config.dram_bytes),
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
    if plan.groups[n].source.table:
        ifmap += ", looked up by the host"
    if segment.nest.in_place:
        return ifmap, "DRAM, in place of the ifmap" if segment.nest.to_dram else "in place of the ifmap"
    ofmap = _place(plan.made[n].layout, n == segment.last - 1 and segment.nest.to_dram)
    return ifmap, f"{ofmap}, in {segment.parts_of(n)} slices" if segment.parts_of(n) > 1 else ofmap


def _place(layout: FeatureMap, in_dram: bool) -> str:
    """Return the memory of a feature map. in_dram: it goes through the GLB to or from DRAM"""
    if in_dram:
        return "DRAM"
    return f"GLB, ring of {layout.ring_rows} rows" if layout.ring_rows < layout.rows else "GLB"
