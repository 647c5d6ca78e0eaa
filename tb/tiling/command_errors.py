# SPDX-License-Identifier: Apache-2.0
"""Commands that fail, each with its error code and the address that comes with it."""

from collections.abc import Callable

from eyrie.model import encoding
from eyrie.model.encoding import ErrorCode, Opcode
from tb.tiling.harness import DRAM_WORDS, GLB_WORDS, WINDOW
from tb.tiling.programs import Program

Build = Callable[[Program], tuple[ErrorCode, int]]  # appends the command; returns error code and address
LOAD, STORE = Opcode.LOAD, Opcode.STORE
BASE, LIMIT = WINDOW
ROW = encoding.TRANSFER.pack(opcode=LOAD)
BLOCK = encoding.TRANSFER.pack(opcode=LOAD, block=1)
PLACE = encoding.TRANSFER_ADDRESS.pack(dram_address=0x20000, words=1)
ONE = encoding.TRANSFER_ROWS.pack(count=1)
CHUNKS = encoding.TRANSFER.pack(opcode=Opcode.CHUNKS)
TWO = encoding.TRANSFER_CHUNKS.pack(count=2)
LAST_TOKEN = encoding.TRANSFER.pack(opcode=Opcode.CHUNKS, wait_chunks=(1 << encoding.SEMAPHORE_BITS) - 1)
CODED = encoding.CODED.pack(opcode=Opcode.CODED, chunk=1)
DRAM, GLB, AXI = ErrorCode.DRAM_ADDRESS, ErrorCode.GLB_ADDRESS, ErrorCode.AXI_RESPONSE
END_OF_DRAM = 8 * DRAM_WORDS


def _word(program: Program, word: int) -> int:
    """Appends a raw command word; returns its address."""
    address = program.address
    program.words.append(word)
    return address


def _illegal(word: int, *more: int) -> Build:
    """These raw words are an illegal command."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = _word(program, word)
        for following in more:
            _word(program, following)
        return ErrorCode.ILLEGAL_COMMAND, address

    return build


def _beyond_the_descriptor(index: int, more: int) -> Build:
    """A CONFIG with a word beyond the descriptor; the words before that one are handed on."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = program.address
        program.config(index, more, [7] * (1 + more.bit_count()))
        program.handed = [each for each in program.handed if each[0] != "config" or each[1] < encoding.CONFIG_WORDS]
        return ErrorCode.ILLEGAL_COMMAND, address

    return build


def _bad_transfer(code: ErrorCode, *args, **kwargs) -> Build:
    """This transfer fails with that code."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = program.address
        program.transfer(*args, **kwargs)
        return code, address

    return build


def _bad_chunks(code: ErrorCode, dram: int, glb: int, words: int) -> Build:
    """The first of these two chunks fails with that code."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = program.address
        program.chunks(dram, glb, words, 2, (0, 0), 0)
        return code, address

    return build


def _bad_coded(code: ErrorCode, dram: int, glb: int, words: int, length: int) -> Build:
    """This LOAD of coded weights, with a table, fails with that code, whatever the DRAM has."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = program.address
        program.coded(dram, glb, words, [length], with_table=1)
        return code, address

    return build


COMMAND_ERRORS = {
    "opcode 0": _illegal(0),
    "opcode 8": _illegal(8),
    "END with a bit": _illegal(1 | 1 << 63),
    "CONFIG beyond the descriptor": _beyond_the_descriptor(encoding.CONFIG_WORDS - 3, 0b1010),
    "CONFIG far beyond": _beyond_the_descriptor(255, (1 << 52) - 1),
    "CONFIG behind the descriptor": _beyond_the_descriptor(encoding.CONFIG_WORDS, 0),
    "PASS with a bit": _illegal(encoding.PASS.pack(opcode=Opcode.PASS) | 1 << 62),
    "LOAD of nothing": _illegal(ROW, PLACE ^ 1 << 48),
    "STORE of nothing": _illegal(encoding.TRANSFER.pack(opcode=STORE), PLACE ^ 1 << 48),
    "block of nothing": _illegal(BLOCK, PLACE ^ 1 << 48, ONE, ONE),
    "STORE of a chunk": _illegal(encoding.TRANSFER.pack(opcode=STORE, chunk=1)),
    "rows with a bit": _illegal(BLOCK, PLACE, ONE | 1 << 60, ONE),
    "no rows": _illegal(BLOCK, PLACE, 0, ONE),
    "CHUNKS with the bit of a chunk": _illegal(CHUNKS | 1 << 4, PLACE, TWO),
    "CHUNKS with the bit of a block": _illegal(CHUNKS | 1 << 5, PLACE, TWO),
    "CHUNKS of nothing": _illegal(CHUNKS, PLACE ^ 1 << 48, TWO),
    "no CHUNKS": _illegal(CHUNKS, PLACE, 0),
    "CHUNKS with a bit": _illegal(CHUNKS, PLACE, TWO | 1 << 48),
    "CHUNKS beyond the tokens": _illegal(LAST_TOKEN, PLACE, TWO),
    "no planes": _illegal(BLOCK, PLACE, ONE, 0),
    "LOAD below the window": _bad_transfer(DRAM, LOAD, BASE - 8, 0, 4),
    "LOAD over the limit": _bad_transfer(DRAM, LOAD, LIMIT - 24, 0, 4),
    "LOAD that wraps": _bad_transfer(DRAM, LOAD, 0xFFFFFFF8, 0, 65535),
    "LOAD of half words": _bad_transfer(DRAM, LOAD, BASE + 4, 0, 1),
    "LOAD, last row over the limit": _bad_transfer(DRAM, LOAD, LIMIT - 64, 0, 2, (16, 2, 4), (16, 8, 2)),
    "LOAD, second row of half words": _bad_transfer(DRAM, LOAD, BASE, 0, 2, (18, 2, 2)),
    "LOAD, plane below the window": _bad_transfer(DRAM, LOAD, BASE + 64, 0, 2, (0, 2, 2), (-64, 8, 3)),
    "STORE below the window": _bad_transfer(DRAM, STORE, BASE - 8, 0, 4),
    "STORE over the limit": _bad_transfer(DRAM, STORE, LIMIT - 24, 0, 4),
    "STORE, row over the limit": _bad_transfer(DRAM, STORE, LIMIT - 64, 0, 4, (32, 4, 3)),
    "CHUNKS over the limit": _bad_chunks(DRAM, LIMIT - 32, 0, 5),
    "CHUNKS beyond the GLB": _bad_chunks(GLB, 0x20000, GLB_WORDS - 3, 4),
    "LOAD beyond the GLB": _bad_transfer(GLB, LOAD, 0x20000, GLB_WORDS - 3, 4),
    "LOAD, row beyond the GLB": _bad_transfer(GLB, LOAD, 0x20000, GLB_WORDS - 8, 4, (32, 4, 3)),
    "LOAD, row before the GLB": _bad_transfer(GLB, LOAD, 0x20000, 4, 4, (32, -8, 2)),
    "STORE beyond the GLB": _bad_transfer(GLB, STORE, 0x20000, 65535, 1),
    "STORE, plane beyond the GLB": _bad_transfer(GLB, STORE, 0x20000, 0, 4, (32, 4, 1), (64, GLB_WORDS - 3, 2)),
}
LENGTHS = encoding.CODED_LENGTHS.pack(first=8, second=8)
CODED_ERRORS = {  # with a decoder
    "CODED of nothing": _illegal(CODED, PLACE ^ 1 << 48, TWO, LENGTHS),
    "no CODED": _illegal(CODED, PLACE, 0, LENGTHS),
    "CODED with a bit": _illegal(CODED, PLACE, TWO | 1 << 48, LENGTHS),
    "CODED without a length": _illegal(CODED, PLACE, TWO, LENGTHS ^ 8),
    "CODED with a length too many": _illegal(CODED, PLACE, encoding.TRANSFER_CHUNKS.pack(count=1), LENGTHS),
    "several CODED that are no chunks": _illegal(CODED ^ 1 << 4, PLACE, TWO, LENGTHS),
    "CODED beyond the tokens": _illegal(CODED | LAST_TOKEN, PLACE, TWO, LENGTHS),
    "CODED over the limit": _bad_coded(DRAM, LIMIT - 32, 0, 4, 5),
    "CODED of half words": _bad_coded(DRAM, BASE + 4, 0, 4, 5),
    "CODED beyond the GLB": _bad_coded(GLB, 0x20000, GLB_WORDS - 2, 3, 8),
    "CODED at an odd word": _bad_coded(GLB, 0x20000, 1, 4, 8),
    "CODED of too few words": _bad_coded(ErrorCode.CODED_WEIGHTS, 0x20000, 0, 1000, 6),
    "CODED of too many words": _bad_coded(ErrorCode.CODED_WEIGHTS, 0x20000, 0, 1, 200),
    "CODED that ends within its table": _bad_coded(ErrorCode.CODED_WEIGHTS, 0x20000, 0, 4, 3),
    "CODED that ends with its table": _bad_coded(ErrorCode.CODED_WEIGHTS, 0x20000, 0, 4, 5),
}
WITHOUT_DECODER = _illegal(CODED, PLACE, TWO, LENGTHS)
WIDE_CODED = {"CODED that fails": _bad_coded(AXI, END_OF_DRAM - 16, 0, 300, 100)}
WIDE = {  # with a window that is larger than the DRAM
    "LOAD that fails": _bad_transfer(AXI, LOAD, END_OF_DRAM - 8, 0, 300),
    "STORE that fails": _bad_transfer(AXI, STORE, END_OF_DRAM - 1024, 0, 300),
    "STORE, row that fails": _bad_transfer(AXI, STORE, END_OF_DRAM - 64, 0, 8, (64, 8, 2)),
}
