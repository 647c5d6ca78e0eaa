# SPDX-License-Identifier: Apache-2.0
"""The limit of each layer in words, from rules over its counters.

A rule looks at an `Interval`. It returns the limit of the layer with a sentence that names the numbers, or None if it
does not apply. The state in which the multipliers lose most cycles selects the rules; the first one that applies
counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from eyrie.compiler.cost.occupancy import Occupancy
from eyrie.compiler.cost.roofline import step_bytes
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.runtime.reasons.interval import FULL, MUCH, Interval, percent
from eyrie.runtime.reasons.padding import FILLED, in_words, is_averaged, narrow, padded
from eyrie.runtime.reasons.slow import OVER_ROOFLINE


@dataclass(frozen=True)
class Reason:
    """The limit of a layer. limit: in two or three words; text: one to four sentences."""

    limit: str
    text: str


Finding = tuple[str, str] | None


def _multipliers(interval: Interval) -> Finding:
    """Every PE multiplies in nearly every cycle, little of it padding."""
    if interval.pe("busy") >= FULL and interval.padding < MUCH:
        return "compute-bound", "The multipliers limit this layer."
    return None


def _padding(interval: Interval) -> Finding:
    """The PEs multiply padding."""
    return "padding", "Padding limits this layer."


def _dram_port(interval: Interval) -> Finding:
    """The DRAM port is busy in nearly every cycle, and the layer waits for its data."""
    waits = interval.unit("filter", "wait")
    has_waited = max(waits, interval.waited) >= max(MUCH, interval.padding)
    if interval.unit("dma", "busy") < FULL or not (has_waited or interval.dram_port >= FULL):
        return None
    stream = f", and the filter stream waited for chunks in {percent(waits)}" if waits >= MUCH else ""
    busy = interval.row["units"]["dma"]["busy"]
    return "memory-bound", (
        f"The DRAM port was busy in {busy:,} of {interval.cycles:,} cycles{stream}. The DRAM port limits this "
        f"layer.{_moved(interval)}"
    )


def _moved(interval: Interval) -> str:
    """Return a sentence on the bytes at the DRAM port, if they are more than the roofline has."""
    moved = interval.row["dram_read_bytes"] + interval.row["dram_write_bytes"]
    constants = step_bytes(interval.step)
    if moved <= OVER_ROOFLINE * constants:
        return ""
    return f" It moved {moved:,} bytes; the layer's filters and quantisation parameters have {constants:,}."


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
    """PEs wait for filters, or multiply padding in the meantime, and the filter port of the GLB is full."""
    has_waited = interval.loss == "wait_filter" or (interval.loss == "padding" and narrow(interval))
    if not has_waited or interval.filter_port < FULL:
        return None
    return "filter port", (
        f"The filter stream used {percent(interval.filter_port)} of its GLB port while a pass ran. That port limits "
        f"this layer.{_reuse(interval)}"
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
        return "depthwise part", (
            "The SUPER PEs make them; the depthwise part limits this layer. "
            f"Each result is used for {interval.step.ofmap[2]:,} ofmap channels."
        )
    return "ifmap stream", "They come from the GLB; the ifmap stream limits this layer."


def _drain(interval: Interval) -> Finding:
    """PEs wait until the drain has read psums out."""
    if interval.loss != "wait_psum":
        return None
    busy, stall = (percent(interval.unit("drain", state)) for state in ("busy", "stall"))
    return "drain", (
        f"The drain was busy in {busy} of the cycles, and the PPU stalled it in {stall}. The drain limits "
        f"this layer.{_work(interval)}"
    )


def _bursts(interval: Interval) -> Finding:
    """PEs wait for filters although no port is full."""
    return "filters in bursts", (
        f"Neither the DRAM port (busy {percent(interval.unit('dma', 'busy'))}) nor the "
        f"filter port (used {percent(interval.filter_port)}) was full. Filters came late or in "
        f"bursts.{_reuse(interval)}"
    )


def _reuse(interval: Interval) -> str:
    """Return a sentence on filters that serve few pixels."""
    pixels = narrow(interval)
    if not pixels:
        return ""
    noun = "pixel" if pixels == 1 else "pixels"
    return f" A PE has {pixels} {noun} for each filter, since the ofmap is {pixels} {noun} wide."


def _work(interval: Interval) -> str:
    """Return a sentence on the MACs of an ofmap value."""
    if is_averaged(interval):
        return ""
    return f" MACs for each ofmap value: {interval.step.macs / (interval.images * prod(interval.step.ofmap)):,.0f}."


def _mapping(interval: Interval) -> Finding:
    """PEs have no work in the running pass: they are idle, or wait in the next pass."""
    if interval.loss == "idle":
        applies = interval.empty < interval.pe("idle") / 2
    else:
        applies = interval.loss in _STREAM_WAITS and interval.unused >= max(MUCH, interval.losses[interval.loss] / 2)
    if not applies:
        return None
    ran = f"A pass ran in {percent(1 - interval.empty)} of the cycles."
    port = interval.filter_port
    full = f" The filter stream used {percent(port)} of its GLB port meanwhile." if port >= FULL else ""
    if not interval.occupancy or interval.unused < MUCH / 2:
        return "mapping", f"{ran} The mapping of the running pass uses only a part of the PEs.{full}"
    height, width, _ = interval.step.ofmap
    return "mapping", (
        f"{ran} Passes use {interval.occupancy.columns:.1f} of {interval.config.cols} columns on average; the ofmap is "
        f'{height} x {width}, the schedule "{interval.step.schedule}".{full}'
    )


def _transfers(interval: Interval) -> Finding:
    """No pass runs until a transfer has ended."""
    if interval.waited < interval.empty / 2 or interval.waited < MUCH / 2:
        return None
    return "late data", (
        f"No pass ran in {percent(interval.empty)} of the cycles. In {percent(interval.waited)}, as predicted, the "
        f"next pass waited for a transfer. The DRAM port was busy in {percent(interval.unit('dma', 'busy'))}."
        f"{_moved(interval)}"
    )


def _no_pass(interval: Interval) -> Finding:
    """No pass runs."""
    waits = interval.share(interval.row["counters"]["pass_wait"])
    waited = f"; a pass waited for transfers or earlier passes in {percent(waits)}" if waits >= MUCH else ""
    passes = len(interval.step.passes)
    count = f" The layer has {passes:,} passes." if passes > 1 else ""
    return "start and end", f"No pass ran in {percent(interval.empty)} of the cycles{waited}.{count}"


def _without_array(interval: Interval, occupancy: Occupancy) -> Reason:
    """Return the reason of a layer that the PPU computes."""
    words, waited = interval.unit("drain", "busy"), min(interval.share(occupancy.waited), 1)
    text = (
        f"The PPU computes this layer without the array. Words entered the PPU in {percent(words)} of the interval's "
        f"{interval.cycles:,} cycles."
    )
    channels = interval.step.ofmap[2]
    whole = in_words(channels, GLB_WORD_BYTES)
    if 0 < channels < FILLED * whole:  # 0 of a program by hand
        text += f" Its {channels} channels fill {channels} of {whole} in the words."
    if waited >= MUCH:
        text += f" In {percent(waited)}, as predicted, a pass waited for a transfer."
    return Reason("vector pass", text)


RULES: tuple[Callable[[Interval], Finding], ...] = (
    _multipliers,
    _dram_port,
    _late_filters,
    _filter_port,
    _mapping,
    _earlier_pass,
    _ifmap,
    _words,
    _drain,
    _bursts,
)
IDLE_RULES = (_multipliers, _dram_port, _mapping, _transfers, _no_pass)  # if most is lost by idle PEs
PADDING_RULES = (_multipliers, _dram_port, _filter_port, _padding)

_STREAM_WAITS = ("wait_filter", "wait_ifmap", "wait_words")
_LOSSES = {
    "padding": "their products were padding",
    "wait_filter": "waited for filters",
    "wait_ifmap": "waited for ifmap words",
    "wait_words": "waited for depthwise results or pixels",
    "wait_psum": "waited for free psum buffers",
    "idle": "were idle",
}


def reason(interval: Interval) -> Reason:
    """Return the limit of a layer."""
    if interval.cycles <= 0:
        return Reason("none", "The passes of this layer end together with passes of other layers.")
    if interval.occupancy and not interval.occupancy.issued_macs:
        return _without_array(interval, interval.occupancy)
    rules = {"idle": IDLE_RULES, "padding": PADDING_RULES}.get(interval.loss, RULES)
    limit, why = next(finding for rule in rules if (finding := rule(interval)))
    lost, cycles = interval.lost_outside, interval.row["cycles"]
    before = ""
    if lost >= MUCH * cycles:
        before = f"{lost:,} of the {cycles:,} cycles lie in intervals of other layers, whose passes had not ended."
        if lost > interval.lost * interval.cycles:
            limit = "other layers"
    return Reason(limit, " ".join(part for part in (before, _spent(interval), why, padded(interval)) if part))


def _spent(interval: Interval) -> str:
    loss = interval.losses[interval.loss]
    text = f"The PEs multiplied in {percent(interval.pe('busy'))} of the interval's {interval.cycles:,} cycles"
    return f"{text} and {_LOSSES[interval.loss]} in {percent(loss)}." if round(100 * loss) else f"{text}."
