# SPDX-License-Identifier: Apache-2.0
"""The limit of each layer in words, from rules over its counters.

A rule looks at an `Interval`. It returns the limit of the layer with a sentence that names the numbers, or None if it
does not apply. The first rule of RULES that applies counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

FULL = 0.85  # share of the cycles from which on a unit counts as always busy
MUCH = 0.1  # share of the cycles that is worth mentioning
OWN = 0.7  # share of the issued MACs below which padding is worth mentioning


@dataclass(frozen=True)
class Interval:
    """A layer's entry of `metrics["layers"]`; its counters are of the time since the previous layer ended."""

    row: dict
    config: AcceleratorConfig

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
        """Return the filter words as a share of the words that the filter port can carry."""
        words = self.row["counters"]["glb_filter_bytes"] / GLB_WORD_BYTES
        return self.share(words / self.config.filter_lanes)

    @property
    def running(self) -> float:
        """Return the share of the cycles in which the array had a pass."""
        counters = self.row["counters"]
        return self.share(counters["array_busy"] + counters["array_stall"])

    @property
    def loss(self) -> str:
        """Return the state, other than multiplying, that took most of the PEs' cycles."""
        states = {state: n for state, n in self.row["units"]["pe"].items() if state != "busy"}
        return max(states, key=lambda state: states[state])


@dataclass(frozen=True)
class Reason:
    """The limit of a layer. bound: in two or three words; text: one to three sentences."""

    bound: str
    text: str


Finding = tuple[str, str] | None


def percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _multipliers(interval: Interval) -> Finding:
    """Every PE multiplies in nearly every cycle."""
    if interval.pe("busy") >= FULL:
        return "compute-bound", "The multipliers limit this layer."
    return None


def _dram_port(interval: Interval) -> Finding:
    """The DRAM port is busy in nearly every cycle."""
    if interval.unit("dma", "busy") < FULL:
        return None
    waits = interval.unit("filter", "wait")
    stream = f", and the filter stream waited for chunks in {percent(waits)}" if waits >= MUCH else ""
    busy = interval.row["units"]["dma"]["busy"]
    return "memory-bound", (
        f"The DRAM port was busy in {busy:,} of {interval.cycles:,} cycles{stream}. The DRAM port limits this layer."
    )


def _late_filters(interval: Interval) -> Finding:
    """PEs wait for filters from DRAM although the DRAM port is free."""
    waits, room = interval.unit("filter", "wait"), interval.unit("dma", "wait") >= MUCH
    if interval.loss != "wait_filter" or waits < MUCH:
        return None
    why = "Transfers waited for free space in the GLB" if room else "Transfers began late"
    return "late filters", (
        f"The filter stream waited for chunks from DRAM in {percent(waits)} of the cycles. The DRAM port was "
        f"busy in {percent(interval.unit('dma', 'busy'))}. {why}."
    )


def _filter_port(interval: Interval) -> Finding:
    """PEs wait for filters, and the filter port of the GLB is full."""
    if interval.loss != "wait_filter" or interval.filter_port < FULL:
        return None
    return "filter port", (
        f"The filter stream used {percent(interval.filter_port)} of its GLB port. That port limits this layer."
    )


def _earlier_pass(interval: Interval) -> Finding:
    """PEs wait for ifmap words that an earlier pass has not written yet."""
    waits = interval.unit("ifmap", "wait")
    if interval.loss not in ("wait_ifmap", "wait_words") or waits < MUCH / 2:
        return None
    return (
        "earlier pass",
        f"The ifmap stream waited in {percent(waits)} of the cycles until an earlier pass wrote its ofmap.",
    )


def _ifmap(interval: Interval) -> Finding:
    """PEs wait for ifmap words that are in the GLB."""
    if interval.loss != "wait_ifmap":
        return None
    lost = interval.row["units"]["glb"]["lost"]
    return "ifmap", (
        "The words were in the GLB; the ifmap stream limits this layer. "
        f"Clients of the GLB lost {lost:,} cycles to bank conflicts."
    )


def _words(interval: Interval) -> Finding:
    """PEs wait for the pixels of pointwise work."""
    if interval.loss != "wait_words":
        return None
    if interval.row["counters"]["glb_depthwise_bytes"]:
        return "depthwise part", "The SUPER PEs make them; the depthwise part limits this layer."
    return "ifmap stream", "They come from the GLB; the ifmap stream limits this layer."


def _drain(interval: Interval) -> Finding:
    """PEs wait until the drain has read psums out."""
    if interval.loss != "wait_psum":
        return None
    busy, stall = (percent(interval.unit("drain", state)) for state in ("busy", "stall"))
    return "drain", (
        f"The drain was busy in {busy} of the cycles, and the PPU stalled it in {stall}. The drain limits this layer."
    )


def _bursts(interval: Interval) -> Finding:
    """PEs wait for filters although no port is full."""
    return "filters in bursts", (
        f"Neither the DRAM port (busy {percent(interval.unit('dma', 'busy'))}) nor the "
        f"filter port (used {percent(interval.filter_port)}) was full. Filters came late or in bursts."
    )


def _mapping(interval: Interval) -> Finding:
    """PEs have no work in the running pass."""
    if 1 - interval.running >= interval.pe("idle") / 2:
        return None
    return "mapping", (
        f"A pass ran in {percent(interval.running)} of the cycles. The mapping of the running pass uses only a part "
        "of the PEs."
    )


def _no_pass(interval: Interval) -> Finding:
    """No pass runs."""
    waits = interval.share(interval.row["counters"]["pass_wait"])
    waited = f"; a pass waited for transfers or earlier passes in {percent(waits)}" if waits >= MUCH else ""
    return "start and end", f"No pass ran in {percent(max(1 - interval.running, 0))} of the cycles{waited}."


RULES: tuple[Callable[[Interval], Finding], ...] = (
    _multipliers,
    _dram_port,
    _late_filters,
    _filter_port,
    _earlier_pass,
    _ifmap,
    _words,
    _drain,
    _bursts,
)
IDLE_RULES = (_multipliers, _dram_port, _mapping, _no_pass)  # if idle PEs are most of the loss

_LOSSES = {
    "wait_filter": "waited for filters",
    "wait_ifmap": "waited for ifmap words",
    "wait_words": "waited for depthwise results or pixels",
    "wait_psum": "waited for free psum buffers",
    "idle": "were idle",
}


def reason(row: dict, config: AcceleratorConfig) -> Reason:
    """Return the limit of a layer; row: an entry of `metrics["layers"]`."""
    interval = Interval(row, config)
    if interval.cycles <= 0:
        return Reason("none", "The passes of this layer end together with passes of other layers.")
    rules = IDLE_RULES if interval.loss == "idle" else RULES
    found = (rule(interval) for rule in rules)
    bound, why = next(finding for finding in found if finding)
    return Reason(bound, " ".join(part for part in (_spent(interval), why, _padding(interval)) if part))


def _spent(interval: Interval) -> str:
    loss = interval.pe(interval.loss)
    text = f"The PEs multiplied in {percent(interval.pe('busy'))} of the interval's {interval.cycles:,} cycles"
    return f"{text} and {_LOSSES[interval.loss]} in {percent(loss)}." if round(100 * loss) else f"{text}."


def _padding(interval: Interval) -> str:
    issued = interval.row["counters"]["macs"]
    if not issued or interval.row["macs"] / issued >= OWN:
        return ""
    own = interval.row["macs"]
    return (
        f"The layer's {own:,} MACs are {percent(own / issued)} of the issued MACs. The others are padding of channels "
        "and filters, or belong to another layer."
    )
