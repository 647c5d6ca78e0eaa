# SPDX-License-Identifier: Apache-2.0
"""The interval of a layer: shares of its cycles, from counters and from the passes of the layer."""

from dataclasses import dataclass
from functools import cached_property

from eyrie.compiler.cost.occupancy import Occupancy
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

FULL = 0.85  # share of the cycles from which on a unit counts as always busy
MUCH = 0.1  # share of the cycles that is worth mentioning


@dataclass(frozen=True)
class Interval:
    """A layer's entry of `metrics["layers"]`; its counters are of the time since the previous layer ended.

    images     of the run
    occupancy  None for a program without a prediction
    """

    row: dict
    config: AcceleratorConfig
    step: ImageStep
    images: int = 1
    occupancy: Occupancy | None = None

    @property
    def cycles(self) -> int:
        return self.row["counters"]["cycles"]

    def share(self, cycles: float) -> float:
        return cycles / self.cycles

    def pe(self, state: str) -> float:
        return self.share(self.row["units"]["pe"][state])

    def unit(self, unit: str, state: str) -> float:
        return self.share(self.row["units"][unit][state])

    @property
    def filter_port(self) -> float:
        """Return the filter words as a share of the words that the filter port can carry while a pass runs."""
        words = self.row["counters"]["glb_filter_bytes"] / GLB_WORD_BYTES
        return self.share(words / self.config.filter_lanes) / max(1 - self.empty, 1e-9)

    @property
    def empty(self) -> float:
        """Return the share of the cycles in which the array had no pass."""
        counters = self.row["counters"]
        return max(1 - self.share(counters["array_busy"] + counters["array_stall"]), 0)

    @property
    def waited(self) -> float:
        """Return the share of the cycles in which the array was empty because a pass waited for a transfer."""
        return min(self.share(self.occupancy.waited), self.empty) if self.occupancy else 0.0

    @property
    def unused(self) -> float:
        """Return the share of the PE columns that the passes give no work, on average."""
        return 1 - self.occupancy.columns / self.config.cols if self.occupancy else 0.0

    @property
    def own(self) -> float:
        """Return the layer's MACs as a share of the MACs that its passes issue."""
        issued = self.occupancy.issued_macs if self.occupancy else 0
        return min(self.step.macs / issued, 1) if issued else 1.0

    @property
    def padding(self) -> float:
        """Return the share of the cycles in which the PEs multiply padding."""
        return self.pe("busy") * (1 - self.own)

    @property
    def dram_port(self) -> float:
        """Return the cycles of the DRAM port for the layer's own bytes as a share of the cycles."""
        return self.share((self.row["dram_bytes"] or 0) / self.config.dram_bytes)

    @property
    def lost_outside(self) -> int:
        """Return the layer's cycles outside of the interval, less those in which the PEs multiplied for it."""
        if not self.occupancy:
            return 0
        outside = self.row["cycles"] - self.cycles
        multiplied = self.occupancy.issued_macs / self.config.total_multipliers - self.row["units"]["pe"]["busy"]
        return max(round(outside - max(multiplied, 0)), 0)

    @cached_property
    def losses(self) -> dict[str, float]:
        """Return the shares of the cycles without a product of the layer, by state."""
        waits = {state: self.pe(state) for state in self.row["units"]["pe"] if state != "busy"}
        return {"padding": self.padding} | waits

    @property
    def lost(self) -> float:
        """Return the share of the cycles in which the PEs made no product of the layer."""
        return 1 - self.pe("busy") + self.padding

    @property
    def loss(self) -> str:
        """Return the state that took most of the multipliers' cycles."""
        return max(self.losses, key=lambda state: self.losses[state])


def percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
