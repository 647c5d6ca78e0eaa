# SPDX-License-Identifier: Apache-2.0
"""Texts of registers, counters, error codes, commands and descriptor fields, for the reference pages.

`scripts/gen_reference.py` writes docs/reference/ from these texts and from the bits of `model/encoding.py`. A test
checks that every register, counter, error code and field has a text.
"""

from dataclasses import dataclass

from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from eyrie.model.status import Control, Status


@dataclass(frozen=True)
class RegisterText:
    """access: RO, RW or WO; reset: the value after rst_ni; meaning: one or two sentences."""

    access: str
    reset: str
    meaning: str


@dataclass(frozen=True)
class ErrorText:
    """The cause and the remedy of an error code.

    `cause` says when the accelerator stops with the code, `remedy` how you fix it.
    """

    cause: str
    remedy: str


REGISTERS: dict[Register, RegisterText] = {
    Register.IDENTITY: RegisterText(
        "RO", "0x45595249", 'The bytes "EYRI". Read it to check that an accelerator answers.'
    ),
    Register.CONTROL: RegisterText("WO", "0", "Starts a run, resets the units, clears the interrupt. Reads 0."),
    Register.STATUS: RegisterText(
        "RO",
        "0",
        "State of the run. 0: idle after a reset. A run without error ends with DONE, and INTERRUPT until cleared.",
    ),
    Register.ERROR_CODE: RegisterText("RO", "0", "Code of the first error of the run, until the soft reset ends."),
    Register.ERROR_ADDRESS: RegisterText("RO", "0", "DRAM byte address of the first word of the command that failed."),
    Register.PROGRAM_BASE: RegisterText("RW", "0", "DRAM byte address of the command list. Locked while BUSY."),
    Register.WINDOW_BASE: RegisterText(
        "RW", "0", "First DRAM byte that the accelerator may access. Locked while BUSY."
    ),
    Register.WINDOW_LIMIT: RegisterText("RW", "0", "First DRAM byte after the window. Locked while BUSY."),
    Register.WATCHDOG_LIMIT: RegisterText("RW", "0", "Cycles without progress after which a run stops. 0: never."),
    Register.INTERRUPT_ENABLE: RegisterText("RW", "0", "Bit 0 connects the interrupt to the pin interrupt_o."),
    Register.COUNTERS: RegisterText("RO", "0", "First performance counter. Each has a low and a high word."),
}

CONTROL: dict[Control, str] = {
    Control.START: "Starts the command list at PROGRAM_BASE. Ignored if SOFT_RESET is written too.",
    Control.SOFT_RESET: "Stops the run, ends the AXI transactions that have begun, then resets all units.",
    Control.CLEAR_INTERRUPT: "Clears the interrupt.",
}

STATUS: dict[Status, str] = {
    Status.BUSY: "A run or a soft reset is in progress.",
    Status.DONE: "The last run has ended without an error.",
    Status.ERROR: "The last run has stopped with an error: see ERROR_CODE.",
    Status.INTERRUPT: "DONE or ERROR has risen since the interrupt was cleared.",
    Status.BUS_WAITS: "The accelerator has stopped, or is about to stop, and waits for an AXI transaction to end.",
}

ERRORS: dict[ErrorCode, ErrorText] = {
    ErrorCode.NONE: ErrorText("No error.", "-"),
    ErrorCode.ILLEGAL_COMMAND: ErrorText(
        "The opcode is unknown, a reserved bit is set, a count is 0, CONFIG writes beyond the descriptor, or the wait "
        "counts of CHUNKS do not fit.",
        "Check that PROGRAM_BASE points to a command list and that the image was copied completely. Check hand-written "
        "commands with `eyrie asm`.",
    ),
    ErrorCode.DRAM_ADDRESS: ErrorText(
        "A row of a transfer or the command list lies outside of [WINDOW_BASE, WINDOW_LIMIT), or is not whole beats of "
        "the port (8 or 16 bytes).",
        "Write window registers that contain the image. Add the address of the window to the addresses of the command "
        "list, as eyrie_load does.",
    ),
    ErrorCode.AXI_RESPONSE: ErrorText(
        "RRESP or BRESP of the memory is not OKAY.",
        "Check that the memory and the interconnect decode the whole window.",
    ),
    ErrorCode.WATCHDOG: ErrorText(
        "No beat, grant, command or pass completes for WATCHDOG_LIMIT cycles: the memory does not answer, or a command "
        "waits for an event that does not happen.",
        "Raise WATCHDOG_LIMIT if the memory is slow. If BUS_WAITS stays set, the memory is silent: check its ports. "
        "Otherwise check the wait counts of the command at ERROR_ADDRESS.",
    ),
    ErrorCode.GLB_ADDRESS: ErrorText(
        "A transfer or a stream goes beyond the GLB, or a stream accesses two words at an odd address. For a stream, "
        "ERROR_ADDRESS is the address of the last PASS that was requested.",
        "Compile the network for the configuration that you run it on.",
    ),
    ErrorCode.DESCRIPTOR: ErrorText(
        "A PASS has a descriptor that breaks a rule of model/legality.py, or its streams bring more words than the "
        "pass takes.",
        "Compile the network for the configuration that you run it on. The functional simulator names the rule.",
    ),
    ErrorCode.CODED_WEIGHTS: ErrorText(
        "A chunk of coded weights ends before its last weight, or does not end there.",
        "Check that the image was copied completely. Check the lengths of hand-written CODED commands.",
    ),
}

COUNTERS: dict[Counter, str] = {
    Counter.CYCLES: "Cycles from the start to the end of the run.",
    Counter.PASSES: "Passes done.",
    Counter.TRANSFERS: "LOAD and STORE transfers done.",
    Counter.MACS: "MACs issued, zero-skipped MACs included.",
    Counter.ZERO_SKIPPED: "Zero-skipped MACs: an operand was zero, and the inputs of the multiplier were held.",
    Counter.DRAM_READ_BYTES: "Bytes read at the AXI port, commands included.",
    Counter.DRAM_WRITE_BYTES: "Bytes written at the AXI port.",
    Counter.COMMAND_BYTES: "Bytes of commands read at the AXI port; part of DRAM_READ_BYTES.",
    Counter.GLB_IFMAP_BYTES: "Bytes that the ifmap stream read from the GLB.",
    Counter.GLB_FILTER_BYTES: "Bytes that the filter stream read from the GLB.",
    Counter.GLB_DEPTHWISE_BYTES: "Bytes that the depthwise stream read from the GLB.",
    Counter.GLB_PARAMETERS_BYTES: "Bytes of quantisation parameters that the parameters stream read from the GLB.",
    Counter.GLB_IPSUM_BYTES: "Bytes of input psums read from the GLB.",
    Counter.GLB_STORE_BYTES: "Bytes that STORE transfers read from the GLB.",
    Counter.GLB_OFMAP_BYTES: "Bytes that the ofmap stream wrote into the GLB.",
    Counter.GLB_LOAD_BYTES: "Bytes that LOAD transfers wrote into the GLB.",
    Counter.GLB_CONFLICTS: "Cycles that GLB clients lost to bank conflicts, summed over the clients.",
    Counter.ARRAY_BUSY: "Cycles in which at least one PE multiplied.",
    Counter.ARRAY_STALL: "Cycles in which a pass of the array ran and no PE multiplied.",
    Counter.IFMAP_STALL: "Cycles in which the ifmap stream had a word that the array did not accept.",
    Counter.FILTER_STALL: "Cycles in which the filter stream had a word that the array did not accept.",
    Counter.DRAIN_BUSY: "Cycles in which psums, or words of a vector pass, entered the PPU.",
    Counter.DRAIN_STALL: "Cycles in which the PPU did not accept psums or a word that was ready.",
    Counter.DMA_BUSY: "Cycles in which a transfer was in progress.",
    Counter.DMA_WAIT: "Cycles in which a transfer waited for its wait counts.",
    Counter.PASS_WAIT: "Cycles in which a pass waited for its wait count.",
    Counter.GLB_RESIDUAL_BYTES: "Bytes of second operands or lookup tables read from the GLB.",
    Counter.PE_WAIT_IFMAP: "PE cycles in a pass without a MAC that waited for ifmap words or depthwise taps.",
    Counter.PE_WAIT_WORDS: "PE cycles in a pass without a MAC that waited for pointwise pixels.",
    Counter.PE_WAIT_FILTER: "PE cycles in a pass without a MAC that waited for filters.",
    Counter.PE_WAIT_PSUM: "PE cycles in a pass without a MAC that waited for a psum half to be drained.",
    Counter.FILTER_WAIT: "Cycles in which the filter stream waited for a weight tile from DRAM.",
    Counter.IFMAP_WAIT: "Cycles in which the ifmap stream waited for the ofmap of an earlier pass.",
    Counter.PE_IDLE: "PE cycles without a pass, summed over the PEs.",
    Counter.PE_BEHIND: "PE cycles in the pass before the one that was requested last, summed over the PEs.",
    Counter.DECODED_BYTES: "Bytes of weights that the weight decoder made; part of GLB_LOAD_BYTES.",
}

OPCODES: dict[Opcode, str] = {
    Opcode.END: "Ends the run when both queues are empty and all transfers and passes are done.",
    Opcode.CONFIG: "Writes the words that follow into the shadow descriptor.",
    Opcode.PASS: "Runs one processing pass with the shadow descriptor.",
    Opcode.LOAD: "Copies words or a block from DRAM to the GLB.",
    Opcode.STORE: "Copies words or a block from the GLB to DRAM.",
    Opcode.CHUNKS: "Runs `count` LOADs of one weight tile each, through a circular buffer in the GLB.",
    Opcode.CODED: "Runs `count` LOADs of coded weights, which the DMA decodes (`WEIGHT_CODES`).",
}

_OPCODE = "Opcode of the command."
_STRIDES = {
    "dram_stride": "Bytes between the starts of two {} in DRAM.",
    "glb_stride": "Words between the starts of two {} in the GLB.",
    "count": "Number of {}.",
}
# By the names of `Word` and `Field`.
COMMAND_FIELDS: dict[str, dict[str, str]] = {
    "EndCommand": {"opcode": _OPCODE},
    "ConfigCommand": {
        "opcode": _OPCODE,
        "index": "Index of the first descriptor word that is written.",
        "more": "Bit n: descriptor word `index` + 1 + n is written, too.",
    },
    "PassCommand": {
        "opcode": _OPCODE,
        "wait_transfers": "The pass waits until this number of transfers are done. 0: no dependency.",
        "wait_passes": "The ifmap stream of the pass waits until this number of passes are done. 0: no dependency.",
    },
    "TransferCommand": {
        "opcode": _OPCODE,
        "chunk": "The transfer completes one chunk of filters.",
        "block": "Two more words follow: the transfer is a block of rows and planes.",
        "wait_passes": "The transfer waits until this number of passes are done. 0: no dependency.",
        "wait_chunks": "The transfer waits until this number of chunks are freed. 0: no dependency.",
    },
    "TransferAddress": {
        "dram_address": "DRAM byte address of the first word.",
        "glb_address": "GLB word address of the first word.",
        "words": "Number of contiguous 64-bit words of a row.",
    },
    "TransferRows": {name: text.format("rows") for name, text in _STRIDES.items()},
    "TransferPlanes": {name: text.format("planes") for name, text in _STRIDES.items()},
    "TransferChunks": {
        "ring_first": "GLB word address of the first word of the circular buffer.",
        "ring_end": "GLB word address after the last word of the circular buffer.",
        "count": "Number of chunks.",
    },
    "CodedCommand": {
        "opcode": _OPCODE,
        "chunk": "Each LOAD completes one chunk of filters. 0: `count` is 1.",
        "with_table": "The first LOAD begins a chain, with a table: five words of `CodeTable`.",
        "wait_passes": "Each LOAD waits until this number of passes are done. 0: no dependency.",
        "wait_chunks": "The first LOAD waits until this number of chunks are freed, each other one for one more. 0: no "
        "LOAD waits.",
    },
    "CodedLengths": {
        name: f"DRAM words of the {name} of four LOADs, 0 behind the last one."
        for name in ("first", "second", "third", "fourth")
    },
    "WeightClass": {
        "first": "Prefix of the class, in the upper bits. Prefixes ascend.",
        "length": "Bits of the prefix, at most 6.",
        "extra": "Bits behind the prefix, at most 6: a number that is added to `base`. 7: a rest of a block.",
        "base": "First weight of the class less the centre, in the order 0, -1, 1, -2, ... to -128.",
    },
    "CodeTable": {
        "first": "A `WeightClass`.",
        "second": "The next `WeightClass`.",
        "centre": "Centre of the code, in the first word of the table. Weights are sums with it, modulo 256.",
    },
}
