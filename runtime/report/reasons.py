# SPDX-License-Identifier: Apache-2.0
"""Why a layer takes as long as it does, in words: rules over its counters.

A rule looks at a `Span` and gives what the layer is bound by and a sentence that says so with numbers, or
None. The first that has something to say counts; the order is that of RULES.
"""

from collections.abc import Callable
from dataclasses import dataclass

from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

FULL = 0.85  # share of the cycles from which on a unit is as good as always busy
MUCH = 0.1  # share of the cycles that is worth a word
OWN = 0.7  # share of the multiplications issued below which padding is worth a word


@dataclass(frozen=True)
class Span:
    """A layer's entry of `figures`: what went on from the end of the layer before to its own."""

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
        """Share of the filter words that the GLB could have given."""
        words = self.row["counters"]["glb_filter_bytes"] / GLB_WORD_BYTES
        return self.share(words / self.config.filter_lanes)

    @property
    def running(self) -> float:
        """Share of the cycles in which the array had a pass."""
        counters = self.row["counters"]
        return self.share(counters["array_busy"] + counters["array_stall"])

    @property
    def loss(self) -> str:
        """What took most of the PEs' cycles beside the multiplications."""
        states = {state: n for state, n in self.row["units"]["pe"].items() if state != "busy"}
        return max(states, key=lambda state: states[state])


@dataclass(frozen=True)
class Reason:
    """bound: in two or three words, what the layer is bound by; text: one to three sentences."""

    bound: str
    text: str


Finding = tuple[str, str] | None


def percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _multipliers(span: Span) -> Finding:
    """Nearly every cycle has a multiplication in every PE."""
    if span.pe("busy") >= FULL:
        return "multipliers", "This layer is bound by the multipliers."
    return None


def _dram_port(span: Span) -> Finding:
    """The DRAM port has no cycle left."""
    if span.unit("dma", "busy") < FULL:
        return None
    waits = span.unit("filter", "wait")
    stream = f"; the filter stream waited {percent(waits)} for chunks" if waits >= MUCH else ""
    busy = span.row["units"]["dma"]["busy"]
    return "DRAM port", (
        f"The DRAM port was busy in {busy:,} of {span.cycles:,} cycles{stream}: this layer is bound by the DRAM port."
    )


def _late_filters(span: Span) -> Finding:
    """PEs wait for filters that have not come from DRAM, though its port is free."""
    waits, room = span.unit("filter", "wait"), span.unit("dma", "wait") >= MUCH
    if span.loss != "wait_filter" or waits < MUCH:
        return None
    why = "transfers waited for room in the GLB" if room else "transfers began late"
    return "late filters", (
        f"The filter stream waited {percent(waits)} for chunks from DRAM, whose port was "
        f"busy in {percent(span.unit('dma', 'busy'))} of the cycles: {why}."
    )


def _filter_port(span: Span) -> Finding:
    """PEs wait for filters, and the GLB gives them as fast as it can."""
    if span.loss != "wait_filter" or span.filter_port < FULL:
        return None
    return "filter port", (
        f"The filter stream used {percent(span.filter_port)} of its GLB port: this layer is bound by that port."
    )


def _earlier_pass(span: Span) -> Finding:
    """PEs wait for ifmap words that an earlier pass still has to write."""
    waits = span.unit("ifmap", "wait")
    if span.loss not in ("wait_ifmap", "wait_words") or waits < MUCH / 2:
        return None
    return "earlier pass", f"The ifmap stream waited {percent(waits)} for an earlier pass to write its ofmap."


def _ifmap(span: Span) -> Finding:
    """PEs wait for ifmap words that are in the GLB."""
    if span.loss != "wait_ifmap":
        return None
    lost = span.row["units"]["glb"]["lost"]
    return "ifmap", (
        "They were in the GLB: this layer is bound by their way to the PEs. "
        f"Clients of the GLB lost {lost:,} cycles to bank conflicts."
    )


def _words(span: Span) -> Finding:
    """PEs wait for pointwise pixels."""
    if span.loss != "wait_words":
        return None
    if span.row["counters"]["glb_depthwise_bytes"]:
        return "depthwise half", "The SUPERs made them too slowly: this layer is bound by its depthwise half."
    return "pixels", "They came too slowly from the GLB: this layer is bound by the ifmap stream."


def _drain(span: Span) -> Finding:
    """PEs wait for sums to leave."""
    if span.loss != "wait_psum":
        return None
    busy, stall = (percent(span.unit("drain", state)) for state in ("busy", "stall"))
    return "drain", (
        f"The drain was busy in {busy} of the cycles, and the PPU held it up in {stall}: this "
        "layer is bound by the drain."
    )


def _bursts(span: Span) -> Finding:
    """PEs wait for filters, and no port is full."""
    return "filters in bursts", (
        f"Neither the DRAM port (busy {percent(span.unit('dma', 'busy'))}) nor the "
        f"filter port (used {percent(span.filter_port)}) was full: filters came "
        "late or in bursts."
    )


def _mapping(span: Span) -> Finding:
    """PEs have no work in the pass that runs."""
    if 1 - span.running >= span.pe("idle") / 2:
        return None
    return "mapping", (
        f"A pass ran in {percent(span.running)} of the cycles: in the running pass, the "
        "mapping gives work to a part of the PEs only."
    )


def _no_pass(span: Span) -> Finding:
    """No pass runs."""
    tokens = span.share(span.row["counters"]["pass_wait"])
    waited = f", and one waited {percent(tokens)} of them for its tokens" if tokens >= MUCH else ""
    return "start and end", f"No pass ran in {percent(max(1 - span.running, 0))} of the cycles{waited}."


RULES: tuple[Callable[[Span], Finding], ...] = (
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
IDLE_RULES = (_multipliers, _dram_port, _mapping, _no_pass)  # where most of the loss are PEs without work

_LOSSES = {
    "wait_filter": "waited for filters",
    "wait_ifmap": "waited for ifmap words or depthwise taps",
    "wait_words": "waited for pointwise words",
    "wait_psum": "waited for room for their sums",
    "idle": "had no work",
}


def reason(row: dict, config: AcceleratorConfig) -> Reason:
    """Of an entry of `figures["layers"]`."""
    span = Span(row, config)
    if span.cycles <= 0:
        return Reason("nothing", "No cycle of the run is this layer's alone.")
    rules = IDLE_RULES if span.loss == "idle" else RULES
    found = (rule(span) for rule in rules)
    bound, why = next(finding for finding in found if finding)
    return Reason(bound, " ".join(part for part in (_spent(span), why, _padding(span)) if part))


def _spent(span: Span) -> str:
    loss = span.pe(span.loss)
    text = f"The PEs multiplied in {percent(span.pe('busy'))} of the span's {span.cycles:,} cycles"
    return f"{text} and {_LOSSES[span.loss]} in {percent(loss)}." if round(100 * loss) else f"{text}."


def _padding(span: Span) -> str:
    issued = span.row["counters"]["macs"]
    if not issued or span.row["macs"] / issued >= OWN:
        return ""
    own = span.row["macs"]
    return (
        f"Its own {own:,} multiplications are {percent(own / issued)} of those issued: the rest is "
        "padding of channels and filters, or another layer's."
    )
