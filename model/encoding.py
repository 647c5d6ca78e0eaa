# SPDX-License-Identifier: Apache-2.0
"""The bits of the accelerator: commands, configuration words, registers, counters, error codes.

This file is their only definition, except for CONTROL and STATUS (status.py). `scripts/gen_pkg.py` writes
`rtl/encoding_pkg.sv` and `runtime/c/driver/eyrie_registers.h` from it; a test checks that they agree. Fields are listed
from bit 0 upwards.
"""

from collections.abc import Mapping
from enum import IntEnum

from eyrie.model import config
from eyrie.model.word import Word, fields

# --- Commands -------------------------------------------------------------------------------------


class Opcode(IntEnum):
    """The command: its first four bits."""

    END = 1  # stop when both queues are empty
    CONFIG = 2  # words of the shadow descriptor follow, of `index` and of the bits of `more`
    PASS = 3  # run one processing pass with the shadow descriptor
    LOAD = 4  # DRAM to GLB; a second word follows, and two more if `block` is set
    STORE = 5  # GLB to DRAM; the same words as LOAD
    CHUNKS = 6  # consecutive LOADs of filter chunks; two words follow
    CODED = 7  # LOADs of coded weights: as CHUNKS, then a word with the lengths of each four of them


# `wait_transfers`, `wait_passes` and `wait_chunks` are wait counts of semaphores. The command waits until the number of
# transfers (LOAD and STORE) done, passes done and filter chunks freed since the start has reached the value. 0 is no
# dependency. A list within 32 bits of byte addresses has fewer than 2**SEMAPHORE_BITS words. A semaphore can therefore
# wrap only if CHUNKS names more chunks than that. A semaphore that has wrapped is too low, so that a command only waits
# longer.
SEMAPHORE_BITS = 29
END = Word("EndCommand", fields("opcode:4"))
CONFIG = Word("ConfigCommand", fields("opcode:4 index:8 more:52"))
PASS = Word("PassCommand", fields("opcode:4 wait_transfers:29 wait_passes:29"))
# A transfer moves `words` contiguous 64-bit words, or a block of `rows` x `planes` of such rows.
# `chunk` marks the arrival of one filter chunk.
TRANSFER = Word("TransferCommand", fields("opcode:4 chunk:1 block:1 wait_passes:29 wait_chunks:29"))
TRANSFER_ADDRESS = Word("TransferAddress", fields("dram_address:32 glb_address:16 words:16"))
TRANSFER_ROWS = Word("TransferRows", fields("dram_stride:s32 glb_stride:s16 count:12"))
TRANSFER_PLANES = Word("TransferPlanes", fields("dram_stride:s32 glb_stride:s16 count:12"))
# CHUNKS is `count` LOADs of one chunk each. Each chunk follows the previous one, in DRAM and in the GLB. In the GLB, a
# chunk that ends at `ring_end` is followed by one at `ring_first`. Each LOAD waits for one more freed chunk than the
# previous one. With `wait_chunks` 0, no LOAD waits for chunks.
TRANSFER_CHUNKS = Word("TransferChunks", fields("ring_first:16 ring_end:16 count:16"))
# CODED is `count` LOADs of as many words of the GLB each, at an even address. Their lengths are words of DRAM. `chunk`
# marks filter chunks, without which `count` is 1; `with_table`: the first one begins a chain, with a table.
CODED = Word("CodedCommand", fields("opcode:4 chunk:1 with_table:1 wait_passes:29 wait_chunks:29"))
CODED_LENGTHS = Word("CodedLengths", fields("first:16 second:16 third:16 fourth:16"))
# A class of a code of weights. `first` is its prefix, left-aligned, `length` the bits of the prefix, at most 6. `extra`
# bits follow, at most 6, a number that is added to `base`; 7 is a rest. The sum, modulo 256, stands for a weight less
# the centre of the code, in the order 0, -1, 1, -2, ... (model/weight_codes.py).
CODE_CLASSES = 10
CODE_LANES = 16
WEIGHT_CLASS = Word("WeightClass", fields("first:6 length:3 extra:3 base:8"))
# A table of a code is five of these words, of two classes each.
CODE_TABLE = Word("CodeTable", fields("first:20 second:20 centre:s8"))
COMMAND_WORDS = (
    END,
    CONFIG,
    PASS,
    TRANSFER,
    TRANSFER_ADDRESS,
    TRANSFER_ROWS,
    TRANSFER_PLANES,
    TRANSFER_CHUNKS,
    CODED,
    CODED_LENGTHS,
    WEIGHT_CLASS,
    CODE_TABLE,
)

# --- Configuration words --------------------------------------------------------------------------


class ArrayMode(IntEnum):
    """The work of the PEs in a pass."""

    CONVOLUTION = 0  # filters stay, ifmap rows stream by
    POINTWISE = 1  # pixels stay, filters stream by; pixels come from the GLB
    FUSED = 2  # depthwise, then pointwise on its words
    DEPTHWISE = 3  # depthwise alone; its words leave through the chain
    ELEMENTWISE = 4  # a vector pass: ifmap words go to the PPU


class DrainMode(IntEnum):
    """The order in which finished sums leave the array."""

    CONVOLUTION = 0  # all rows of a set add up
    POINTWISE = 1  # filters are assigned round-robin to the rows
    WORDS = 2  # depthwise words of the SUPERs
    NONE = 3  # no sums: a vector pass


class PoolMode(IntEnum):
    """The pooling of the PPU between requantisation and packing."""

    NONE = 0
    AVERAGE = 1  # over all pixels in flight of an image
    MAX = 2  # 2x2, stride 2: columns (2j, 2j + 1) are rows, pixels (2i, 2i + 1) are columns


class Operation(IntEnum):
    """The elementwise operation. The first operand comes from the pass, the second one from the residual stream."""

    NONE = 0
    ADD = 1
    SUB = 2
    MUL = 3
    MAXIMUM = 4  # of both operands, or of a window of words of the first one
    MINIMUM = 5  # the same words
    TABLE = 6  # of 256 entries, which the residual stream brings
    SUM = 7  # of a window of words of the first operand
    SQUARED_DIFFERENCE = 8
    PRELU = 9  # first operands below zero are multiplied by the second one


OF_TWO = (
    Operation.ADD,
    Operation.SUB,
    Operation.MUL,
    Operation.SQUARED_DIFFERENCE,
    Operation.PRELU,
)  # which always have two operands


class Destination(IntEnum):
    """The units that the words of the ifmap stream go to."""

    ROWS = 0  # ifmap rows, to the ifmap queues of the PEs
    PIXELS = 1  # pointwise pixels, to their pixel queues
    PPU = 2  # words of the first operand of a vector pass


# taps: S; pixels: F, processed at the same time in a PE; filters_N: p of set row N; rotation: the row at which the
# round robin of the filters of a tile starts, relative to the previous tile (pointwise; the first tile of an outer
# block starts at row 0); ifmap_offset / word_offset: read activations as q ^ 0x80, unsigned; filter_zero_point /
# depthwise_zero_point: subtracted from the filters of psums / from depthwise filters.
ARRAY_SHAPE = Word(
    "ArrayShape",
    fields(
        "mode:3 taps:3 stride_2:1 ifmap_offset:1 word_offset:1 pixels:9 "
        "filters_0:9 filters_1:9 filters_2:9 rotation:2 filter_zero_point:s8 depthwise_zero_point:s8"
    ),
)
# A pass runs, outermost first: outer blocks, filter tiles, inner blocks, channel groups; depthwise work also, within a
# channel group, `bands` of three rows of the kernel. A PE works on its row of one band after the other.
ARRAY_LOOPS = Word("ArrayLoops", fields("groups:14 inner:14 tiles:14 outer:14 bands:2"))
DEPTHWISE = Word("DepthwiseOutput", fields("zero_point:s8 act_min:s8 act_max:s8"))
# block: filters (or sets, for words) per block of <= 8 output channels; blocks: per tile (for words: channel groups);
# last_block: filters of the last block, which can have fewer (pointwise); set_filters: p, if a block spans several
# sets; chains, chain_sets: number of chains, and sets per chain; fold: chains drain one after the other, a block each,
# because they hold different pixels or more than 8 filters; columns: in use, from column 0; rows: rows of a set that
# take part; pairs: pointwise filters go round-robin to the rows of a set two at a time; two_pixels: a transfer has the
# sums of two pixels, except for the last of an odd number; link_enable: bit i connects the column adder chain of row i
# to row i + 1.
DRAIN = Word(
    "Drain",
    fields(
        "mode:2 block:4 blocks:11 last_block:4 set_filters:4 chains:3 chain_sets:3 fold:1 "
        "columns:5 rows:3 ipsum:1 to_ppu:1 pairs:1 two_pixels:1 link_enable:14"
    ),
)
# pool_count: pixels averaged, at most 1024; pool_reciprocal, pool_shift: its reciprocal is pool_reciprocal / 2^(17 +
# pool_shift) (model.arithmetic.average_reciprocal); 2^pool_columns columns side by side make an average of their own.
PPU = Word(
    "PpuConfig",
    fields(
        "zero_point:s8 act_min:s8 act_max:s8 raw:1 pool:2 pool_count:11 pool_reciprocal:18 pool_shift:4 pool_columns:3"
    ),
)
# The elementwise operation at the end of the PPU (docs/hardware/ppu.md): its operands and its result. The factor
# of an addend is multiplier / 2^(31 + right_shift), the factor of the result is multiplier / 2^(31 - shift). Products
# of PRELU have the factor of the first operand, not of the result. window: transfers of the first operand, of a word or
# two, that become one word; 0: each is a word, and gives one.
PPU_FIRST = Word("PpuFirst", fields("multiplier:31 right_shift:5 zero_point:s8 window:19"))
PPU_SECOND = Word("PpuSecond", fields("operation:4 multiplier:31 right_shift:5 zero_point:s8"))
PPU_RESULT = Word("PpuResult", fields("multiplier:31 shift:s6 zero_point:s8 act_min:s8 act_max:s8"))
# A word of the table stream if the operation is SUM: the factor of a window and the value that is added to its sum.
WINDOW = Word("Window", fields("multiplier:31 shift:s6 bias:s27"))
LOOKUP_WORDS = 32  # GLB words of TABLE's 256 entries
# One byte per row / per PE, row by row; 8 per word.
ROW_ID = Word("RowId", fields("ifmap:4 filter:4"))
COLUMN_ID = Word("ColumnId", fields("ifmap:6 filter:2"))
IDS_PER_WORD = 8
# Column IDs of a PE that takes no part; tags never have them.
NO_COLUMN = 63  # ifmap
NO_FILTER_COLUMN = 3

ARRAY_SHAPE_INDEX = 0
ARRAY_LOOPS_INDEX = 1
DEPTHWISE_INDEX = 2
DRAIN_INDEX = 3
PPU_INDEX = 4
PPU_FIRST_INDEX = 5
PPU_SECOND_INDEX = 6
PPU_RESULT_INDEX = 7
ROW_IDS_INDEX = 8
COLUMN_IDS_INDEX = 10
STREAMS_INDEX = 40
STREAM_WORDS = 16
CONFIG_WORDS = 152


def config_indices(command: Mapping[str, int]) -> list[int]:
    """Return the descriptor words that a CONFIG writes, in order."""
    more = command["more"]
    return [command["index"] + n for n in range(more.bit_length() + 1) if not n or more >> n - 1 & 1]


class Stream(IntEnum):
    """The address generators, in the order of their descriptors."""

    IFMAP = 0
    FILTER = 1
    DEPTHWISE = 2  # depthwise filters and their quantisation parameters
    PARAMETERS = 3  # quantisation parameters of the PPU; of a SUM, a word for each window
    IPSUM = 4
    OFMAP = 5
    RESIDUAL = 6  # second operand of the PPU's operation, in the order of the words of the first operand, or its table


GLB_ADDRESS_BITS = 16  # of a GLB word
COORDINATE_BITS = 13  # of y and x, signed
LEVELS = 12  # nested loops of an address generator, level 0 innermost


class Axis(IntEnum):
    """The coordinate that a loop level advances."""

    NONE = 0  # adds `stride` to the offset, as 3 does
    ROW = 1  # adds `step` to y and `stride` to the row address, modulo the ring
    COLUMN = 2  # adds `step` to x and `stride` to the offset


# A GLB word address is row_address + offset, modulo 2**16. The row address wraps: beyond ring_last, the last word of
# the ring, ring_size is subtracted (ring_size 0: no ring).
STREAM_ADDRESS = Word("StreamAddress", fields("row_address:16 offset:16 ring_last:16 ring_size:16"))
# (y, x) is inside if 0 <= y < rows and 0 <= x < cols; both count modulo 2**13. If tag_wrap is not 0 and the row and
# column bits of a tag, as one number, reach it, it is subtracted from them. The half bit is added apart.
STREAM_RANGE = Word("StreamRange", fields("y:s13 x:s13 rows:12 cols:12 tag_wrap:11"))
# chunk: filters come in chunks, one for each iteration of level chunk_level. The level above it iterates over inner
# blocks, which use the same chunks again: its first iteration waits for each chunk, its last one frees them. Two lanes
# send pairs of words, each starting at an even column; level pair_level steps through the pairs of a row, two columns
# at a time. A row can begin at any column x. If x is odd, the first word of the first pair is not sent. If the row ends
# before the second word of its last pair, that word is not sent. odd_words says that rows have an odd number of words.
# destination: of ifmap words. half_by_set: even sets use the low half of each word, odd sets the high half; else the
# half bit of the tag says which. single: a beat is the word of lane 0 alone, at any column.
# more_bands: a PE takes the ifmap rows of its column ID, and of so many further tags, 3 apart.
# packed_pixels: two lanes send the halves of one word, at any address, lane 0 the low one, with zeros above.
# level_pairs: pairs of loop levels in use, less one; other levels run once, and their words are ignored. last_strobe:
# valid bytes of the ofmap words of the last block of the last tile (for the ofmap, level OFMAP_BLOCK_LEVEL counts
# blocks and level OFMAP_TILE_LEVEL tiles).
STREAM_OPTIONS = Word(
    "StreamOptions",
    fields(
        "enable:1 chunk:1 chunk_level:3 pad:s8 odd_words:1 destination:2 "
        "half_by_set:1 last_strobe:8 pair_level:2 single:1 level_pairs:3 packed_pixels:1 more_bands:2"
    ),
)
# last: iterations less one. stride: in GLB words, modulo 2**16.
STREAM_LEVEL = Word("StreamLevel", fields("last:14 stride:s16 step:s13 axis:2 tag:11"))
TAG = Word("Tag", fields("column:6 row:4 half:1"))

OFMAP_BLOCK_LEVEL = 3
OFMAP_TILE_LEVEL = 5

STREAM_ADDRESS_OFFSET = 0
STREAM_RANGE_OFFSET = 1
STREAM_OPTIONS_OFFSET = 2
STREAM_LEVELS_OFFSET = 4

PARAMETER_WORDS = 9  # GLB words of 8 channels' table: 4 of biases, 4 of multipliers, 1 of shifts
DEPTHWISE_RUN_TAG = 4  # the tag of a depthwise word: 4 x number of its run in the group + place in the run


def kernel_bands(rows: int) -> int:
    """Return the bands of a depthwise kernel of so many rows. The last one may have rows of zero."""
    return -(-rows // config.SET_ROWS)


def depthwise_group_words(kernel: tuple[int, int]) -> int:
    """Return the GLB words of 8 channels of a depthwise kernel, R x S, and of their parameters: in runs of three words,
    for each band of three rows and each column, then the table."""
    return kernel_bands(kernel[0]) * config.SET_ROWS * kernel[1] + PARAMETER_WORDS


CONFIG_FORMATS = (
    ARRAY_SHAPE,
    ARRAY_LOOPS,
    DEPTHWISE,
    DRAIN,
    PPU,
    PPU_FIRST,
    PPU_SECOND,
    PPU_RESULT,
    WINDOW,
    ROW_ID,
    COLUMN_ID,
    STREAM_ADDRESS,
    STREAM_RANGE,
    STREAM_OPTIONS,
    STREAM_LEVEL,
    TAG,
)

# --- Registers and counters -----------------------------------------------------------------------


class ErrorCode(IntEnum):
    """The reason why the accelerator stopped."""

    NONE = 0
    ILLEGAL_COMMAND = 1
    DRAM_ADDRESS = 2  # outside the window, or not whole beats of the port
    AXI_RESPONSE = 3
    WATCHDOG = 4
    GLB_ADDRESS = 5  # a transfer beyond the GLB, or a stream, or an odd pair: then the address is the last PASS's
    DESCRIPTOR = 6  # of a PASS: one that the accelerator does not run (model.legality)
    CODED_WEIGHTS = 7  # a chunk of coded weights that is not as long as its weights


class Register(IntEnum):
    """Byte addresses of the 32-bit registers."""

    IDENTITY = 0x00  # reads 0x45595249, "EYRI"
    CONTROL = 0x04  # bits of status.Control
    STATUS = 0x08  # bits of status.Status
    ERROR_CODE = 0x0C
    ERROR_ADDRESS = 0x10  # DRAM address of the command that failed
    PROGRAM_BASE = 0x14
    WINDOW_BASE = 0x18  # first byte of DRAM the accelerator may touch
    WINDOW_LIMIT = 0x1C  # first byte after it
    WATCHDOG_LIMIT = 0x20  # cycles without progress until it stops; 0: never
    INTERRUPT_ENABLE = 0x24
    COUNTERS = 0x100  # counter n at counter_register(n)


IDENTITY = 0x45595249
COUNTER_BYTES = 8  # of a counter: a register for its low word, then one for its high word


class Counter(IntEnum):
    """Performance counters, since the start."""

    CYCLES = 0
    PASSES = 1
    TRANSFERS = 2
    MACS = 3  # MACs issued, including zero-skipped ones
    ZERO_SKIPPED = 4  # of these, with a zero operand: the multiplier's inputs were held
    DRAM_READ_BYTES = 5
    DRAM_WRITE_BYTES = 6
    COMMAND_BYTES = 7  # part of DRAM_READ_BYTES
    GLB_IFMAP_BYTES = 8
    GLB_FILTER_BYTES = 9
    GLB_DEPTHWISE_BYTES = 10
    GLB_PARAMETERS_BYTES = 11
    GLB_IPSUM_BYTES = 12
    GLB_STORE_BYTES = 13
    GLB_OFMAP_BYTES = 14
    GLB_LOAD_BYTES = 15
    GLB_CONFLICTS = 16  # client cycles lost to bank conflicts
    ARRAY_BUSY = 17  # cycles in which at least one PE multiplied
    ARRAY_STALL = 18  # cycles in which a pass of the array ran and no PE multiplied
    IFMAP_STALL = 19  # cycles in which the stream had a word that was not accepted
    FILTER_STALL = 20
    DRAIN_BUSY = 21  # cycles in which a transfer of sums, or of words of a vector pass, entered the PPU
    DRAIN_STALL = 22  # cycles in which the PPU did not accept a pending one
    DMA_BUSY = 23
    DMA_WAIT = 24  # cycles in which a transfer waited for its wait counts
    PASS_WAIT = 25  # cycles in which a pass waited for its wait counts
    GLB_RESIDUAL_BYTES = 26
    # Cycles of PEs in a pass that did not multiply, summed over the PEs, by the cause of the wait.
    PE_WAIT_IFMAP = 27  # ifmap words or depthwise taps
    PE_WAIT_WORDS = 28  # pointwise pixels, from the SUPER or from the GLB
    PE_WAIT_FILTER = 29
    PE_WAIT_PSUM = 30  # a psum half that has not been drained
    FILTER_WAIT = 31  # cycles in which the filter stream waited for a chunk from DRAM
    IFMAP_WAIT = 32  # cycles in which the ifmap stream waited for an ofmap to be written
    PE_IDLE = 33  # cycles of PEs without a pass, summed over the PEs
    PE_BEHIND = 34  # cycles of PEs still in the pass before the newest one, summed over the PEs
    DECODED_BYTES = 35  # part of GLB_LOAD_BYTES


def counter_register(counter: Counter) -> int:
    """Return the address of a counter's low word; the high word follows 4 bytes later.

    Reading the low word saves the high word of the same cycle for the next read of a high word.
    """
    return Register.COUNTERS + COUNTER_BYTES * counter


_GLB_READERS = ("IFMAP", "FILTER", "DEPTHWISE", "PARAMETERS", "IPSUM", "RESIDUAL", "STORE")


def glb_read_bytes(counters: Mapping[str, int]) -> int:
    """Return the bytes read from the GLB, summed from the counters by name."""
    return sum(counters[f"GLB_{c}_BYTES"] for c in _GLB_READERS)


def glb_write_bytes(counters: Mapping[str, int]) -> int:
    """Return the bytes written into the GLB, summed from the counters by name."""
    return counters["GLB_OFMAP_BYTES"] + counters["GLB_LOAD_BYTES"]
