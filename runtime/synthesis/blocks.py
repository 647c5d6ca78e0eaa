# SPDX-License-Identifier: Apache-2.0
"""The modules that synthesis reports metrics for. Each one is synthesised apart: it shares no gate with its
surroundings.
"""

TOP = "eyrie"

# From the outside in. A block's figures include the blocks inside it. Some configurations lack some blocks.
BLOCKS = (
    TOP,
    "register_file",
    "performance_counters",
    "tiling_controller",
    "command_processor",
    "dma",
    "weight_decoder",
    "weight_lane",
    "axi_reader",
    "axi_writer",
    "eyrie_core",
    "glb",
    "pass_controller",
    "descriptor",
    "stream_set",
    "read_stream",
    "write_stream",
    "drain_sequencer",
    "pe_array",
    "multicast_network",
    "depthwise_network",
    "adder_chains",
    "pe_set",
    "pe",
    "super_pe",
    "psum_buffer",
    "word_buffer",
    "dot4",
    "requantizer",
    "ppu",
    "elementwise_unit",
)

# Modules whose instances, with their registers, count as multipliers and requantisers of the accelerator.
MULTIPLIERS = ("dot4",)
REQUANTIZERS = ("requantizer",)

# Blocks that are also placed and routed.
PLACED = ("pe", "super_pe", "pass_controller", "stream_set", "tiling_controller", "requantizer", "dot4")
