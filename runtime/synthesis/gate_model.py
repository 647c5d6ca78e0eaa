# SPDX-License-Identifier: Apache-2.0
"""The gate model: gate equivalents and memory bits of an accelerator from its configuration, without synthesis.

Blocks that grow with the same sizes form a group. The gate equivalents of a group are a sum of terms, such as PEs times
words of a queue. `scripts/gen_gates.py` fits the coefficients of the terms, which are in
data/reference/gate_coefficients.json (docs/research/synthesis.md).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.runtime.folders import ROOT
from eyrie.runtime.synthesis.design import MEMORY_BITS

COEFFICIENTS = ROOT / "data" / "reference" / "gate_coefficients.json"

Terms = Mapping[str, float]  # name -> value


def gate_equivalents(config: AcceleratorConfig) -> float:
    """Return the predicted gate equivalents (NAND2) of the accelerator, without memories.

    They predict `gate_equivalents` of `eyrie synth --unplaced` without a cell library.
    """
    return sum(group_equivalents(config).values())


def group_equivalents(config: AcceleratorConfig) -> dict[str, float]:
    """Return the predicted gate equivalents of each group of GROUPS."""
    coefficients = _coefficients()
    return {
        name: sum(coefficients[name][term] * value for term, value in group.terms(config).items())
        for name, group in GROUPS.items()
    }


@cache
def _coefficients() -> dict[str, Terms]:
    return json.loads(COEFFICIENTS.read_text())


# ---- Memories ----

_SUM_BITS = 32
_DEPTHWISE_WORD_BITS = 32
_DESCRIPTOR_BITS = 152 * 64  # configuration words of a pass: rtl/pass/descriptor.sv
_LOOKUP_BITS = 8 * 32 * 64  # tables of rtl/ppu/lookup_table.sv
_COMMAND_QUEUE_BITS = 16 * 276 + 64 * 99  # queues of transfers and of passes: rtl/tiling/command/command_processor.sv
_DMA_QUEUE_BITS = 64 * 32 + 64 * 34  # transfers in flight, rows that are loaded: rtl/tiling/dma/
_CODED_BITS = 18 * (16 + 64)  # of coded weights, in the queue of transfers and in the queue of rows
_FETCHED_WORDS = 64  # commands that are read ahead
_POOL_BITS = 8 * 18  # totals of a column, in the average pooling


def memory_bits(config: AcceleratorConfig) -> int:
    """Return the memory bits of the accelerator: exactly `memory_bits` of `eyrie synth`."""
    return (
        config.glb_words * 8 * GLB_WORD_BYTES
        + _pes(config) * 4 * _ram(_sum_rows(config) * _SUM_BITS)
        + _supers(config) * _ram(config.word_buffer_words * _DEPTHWISE_WORD_BITS)
        + _ram(config.cols * _POOL_BITS)
        + _ram(_FETCHED_WORDS // config.bus_words * (1 + 64 * config.bus_words))
        + config.weight_codes * _CODED_BITS
        + _DESCRIPTOR_BITS
        + _LOOKUP_BITS
        + _COMMAND_QUEUE_BITS
        + _DMA_QUEUE_BITS
    )


def _ram(bits: int) -> int:
    """Return the bits of a memory. A smaller one consists of registers and is no memory."""
    return bits if bits >= MEMORY_BITS else 0


def _sum_rows(config: AcceleratorConfig) -> int:
    """Return the words of one of the four memories of a psum buffer."""
    return (config.psum_words + 1) // 2


# ---- Groups ----


def _pes(config: AcceleratorConfig) -> int:
    return config.rows * config.cols


def _supers(config: AcceleratorConfig) -> int:
    return config.sets * config.cols


def _bits(count: int) -> int:
    """Return the bits of a number below `count`."""
    return (count - 1).bit_length()


def _pe(config: AcceleratorConfig) -> Terms:
    queues = (config.ifmap_words, config.pixel_words, config.filter_words)
    terms = {
        "PE": 1,
        "words of two-lane queues": config.ifmap_words + config.pixel_words,
        "words of the filter queue": config.filter_words,
        "words of a two-lane filter queue": (config.filter_lanes - 1) * config.filter_words,
        "second filter lane": config.filter_lanes - 1,
        "bits of the counts of the queues": sum(_bits(words + 1) for words in queues),
    }
    return _times(_pes(config), terms)


def _psum_buffer(config: AcceleratorConfig) -> Terms:
    rows = _sum_rows(config)
    registers = 0 if _ram(rows * _SUM_BITS) else 1
    terms = {
        "PE": 1,
        "bits of an index": _bits(config.psum_words),
        "buffer of registers": registers,
        "words in registers": registers * rows,
    }
    return _times(_pes(config), terms)


def _dot4(config: AcceleratorConfig) -> Terms:
    return _times(_pes(config), {"PE": 1, "multipliers": config.multipliers})


def _super_pe(config: AcceleratorConfig) -> Terms:
    return _times(_supers(config), {"SUPER": 1, "bits of an index": _bits(config.word_buffer_words)})


def _network(config: AcceleratorConfig) -> Terms:
    return {
        "1": 1,
        "second filter lane": config.filter_lanes - 1,
        "PEs": _pes(config),
        "columns": config.cols,
        "rows": config.rows,
    }


def _requantizer(config: AcceleratorConfig) -> Terms:
    second = max(config.cols, GLB_WORD_BYTES)  # lanes of the second pixel, which convert operations, too
    return {"1": 1, "SUPERs": _supers(config), "lanes of the PPU": config.cols + second}


def _ppu(config: AcceleratorConfig) -> Terms:
    registers = 0 if _ram(config.cols * _POOL_BITS) else 1
    return {
        "1": 1,
        "columns": config.cols,
        "columns with totals in registers": registers * config.cols,
    }


def _glb(config: AcceleratorConfig) -> Terms:
    return {
        "1": 1,
        "banks": config.glb_banks,
        "row bits of all banks": config.glb_banks * _bits(config.glb_bank_words),
    }


def _streams(config: AcceleratorConfig) -> Terms:
    return {"1": 1, "second filter lane": config.filter_lanes - 1}


def _passes(config: AcceleratorConfig) -> Terms:
    return {"1": 1, "rows": config.rows, "columns": config.cols}


def _tiling(config: AcceleratorConfig) -> Terms:
    return {
        "1": 1,
        "second bus word": config.bus_words - 1,
        "decoder": config.weight_codes,
        "decoder of two bus words": config.weight_codes * (config.bus_words - 1),
    }


def _fixed(config: AcceleratorConfig) -> Terms:
    return {"1": 1}


def _times(count: int, terms: Terms) -> Terms:
    return {name: count * value for name, value in terms.items()}


@dataclass(frozen=True)
class BlockGroup:
    """Blocks of blocks.py that grow with the same sizes, and the values of their terms for a configuration."""

    blocks: tuple[str, ...]
    terms: Callable[[AcceleratorConfig], Terms]


GROUPS = {
    "pe": BlockGroup(("pe",), _pe),
    "psum_buffer": BlockGroup(("psum_buffer",), _psum_buffer),
    "dot4": BlockGroup(("dot4",), _dot4),
    "super_pe": BlockGroup(("super_pe", "word_buffer"), _super_pe),
    "pe_set": BlockGroup(("pe_set",), lambda config: {"SUPERs": _supers(config)}),
    "network": BlockGroup(("pe_array", "multicast_network", "depthwise_network", "adder_chains"), _network),
    "requantizer": BlockGroup(("requantizer",), _requantizer),
    "ppu": BlockGroup(("ppu", "elementwise_unit"), _ppu),
    "glb": BlockGroup(("glb",), _glb),
    "streams": BlockGroup(("stream_set", "read_stream", "write_stream"), _streams),
    "passes": BlockGroup(("pass_controller", "descriptor", "drain_sequencer"), _passes),
    "tiling": BlockGroup(
        (
            "tiling_controller",
            "command_processor",
            "dma",
            "weight_decoder",
            "weight_lane",
            "axi_reader",
            "axi_writer",
        ),
        _tiling,
    ),
    "top": BlockGroup(("eyrie", "eyrie_core"), _fixed),
    "host": BlockGroup(("register_file", "performance_counters"), _fixed),
}
