# SPDX-License-Identifier: Apache-2.0
"""The predicted performance of a compiled network by layer: a table, layers.csv and summary.json
(docs/reference/summary.md)."""

import csv
import io
import json
from dataclasses import asdict, dataclass

from eyrie.model.messages import aligned


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

    search_gap: the share by which the planner's estimate is above its lower bound, with every transfer in time
    saved_by_codes: DRAM bytes by which coded constants are shorter
    macs: MACs of the network; energy_uJ: for operands without zeros
    """

    images: int
    clock_hz: int
    cycles: int
    roofline_cycles: int
    search_gap: float
    milliseconds: float
    images_per_second: float
    macs: int
    dram_read_bytes: int
    dram_write_bytes: int
    command_bytes: int
    saved_by_codes: int
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

    def rating(self, objective: str) -> float:
        """Return the figure that an objective makes small."""
        return getattr(self, {"bytes": "dram_bytes", "energy": "energy_uJ"}.get(objective, "cycles"))

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
        saved = f"; {self.saved_by_codes:,} more without codes" if self.saved_by_codes else ""
        return [
            f"{self.cycles:,} cycles predicted; the roofline of the network is {self.roofline_cycles:,} cycles",
            f"schedule: {100 * self.search_gap:.2f} % above its lower bound",
            f"{self.milliseconds:.3f} ms for {images} at {self.clock_hz / 1e6:g} MHz, "
            f"{self.images_per_second:,.1f} images a second",
            f"DRAM {self.dram_bytes:,} bytes, {self.command_bytes:,} of them commands; {ratio:.3f} times the "
            f"compulsory {self.compulsory_dram_bytes:,}{saved}",
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
