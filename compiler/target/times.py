# SPDX-License-Identifier: Apache-2.0
"""Times of jobs and transfers for planning: rounded, from the latency of the DRAM. `cost/timing` has exact times."""

from eyrie.model.config import AcceleratorConfig

BETWEEN = 40  # cycles from a job's last multiplication to the next one's first
WRITTEN = 100  # cycles until rows just written are multiplied
GAP = 2  # cycles of the port for a transfer's commands
TURN = 150  # cycles of the port from loads to stores and back
_FIRST_WORD = 10  # cycles of a load from the arrival of its first word to its use, or of a store
_REQUEST = 60  # cycles from the end of a job to the first request for words that it held back


def port_words(config: AcceleratorConfig) -> float:
    """Return the words that the DRAM port loads in a cycle: those of the DRAM, or less if the latency is too long for
    the beats that may be under way."""
    return min(config.dram_words, config.bus_words * config.read_beats / (config.dram_latency + 1))


def ready(config: AcceleratorConfig) -> int:
    """Return the cycles from a load's start to its first word, and from a store's last word to its end."""
    return config.dram_latency + _FIRST_WORD


def late(config: AcceleratorConfig) -> int:
    """Return the cycles until words are there that are loaded only when the job before has ended."""
    return ready(config) + _REQUEST
