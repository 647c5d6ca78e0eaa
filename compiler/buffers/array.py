# SPDX-License-Identifier: Apache-2.0
"""The memory hierarchy of the array, from its parameters. docs/howto/buffers.md says which parts it leaves out."""

from eyrie.compiler.ir.buffer_tree import BufferTree, Memory, Role, Unit, Work
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

PE_WORD_BYTES = 4
WORD_VALUES = 8  # int8 that the PPU takes in a cycle


def array_tree(config: AcceleratorConfig) -> BufferTree:
    """Return the memory hierarchy of the array: the GLB, then the local memories of all PEs, as one memory per
    operand."""
    pes = config.rows * config.cols * PE_WORD_BYTES
    glb = Memory(
        name="glb",
        bytes=config.glb_bytes,
        width=config.dram_bytes,
        latency=config.dram_latency,
        alignment=GLB_WORD_BYTES,
        holds=(Role.INPUT, Role.OTHER, Role.FILTERS, Role.TABLE, Role.OUTPUT),
    )
    inner = [
        ("ifmap", config.ifmap_words, Role.INPUT, 2),
        ("filters", config.filter_words, Role.FILTERS, config.filter_lanes),
        ("psums", 2 * config.psum_words, Role.SUMS, 1),
    ]
    buffers = (
        Memory(
            name=name,
            bytes=pes * words,
            source=glb.name,
            width=GLB_WORD_BYTES * lanes,
            alignment=PE_WORD_BYTES,
            holds=(role,),
        )
        for name, words, role, lanes in inner
    )
    units = (
        Unit(works=(Work.CONVOLUTION,), columns=config.cols, filters=config.rows, channels=config.multipliers),
        Unit(works=(Work.DEPTHWISE,), columns=config.cols, filters=config.rows),
        Unit(works=(Work.POOL, Work.ELEMENTWISE), filters=WORD_VALUES),
    )
    return BufferTree(name="array", memories=(glb, *buffers), units=units)
