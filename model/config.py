# SPDX-License-Identifier: Apache-2.0
"""Machine parameters: the sizes that can differ from one Eyrie to another.

Every RTL parameter of the same name is given its value from here; the widths of command and
configuration fields do not depend on them and live in `model/encoding.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from model.messages import about, unknown
from model.reading import read_json

SET_ROWS = 3  # rows of a PE set, in every size: one filter row each
MAX_ROWS, MAX_PES = 15, 176  # that the descriptor has IDs for
MAX_GLB_WORDS = 1 << 16  # that an address reaches
MIN_WORD_BUFFER = 8  # words: a group of four pixels, twice
MAX_PE_WORDS = 1 << 16  # of any buffer in the array: far more than an index reaches
WORD_CHANNELS = 4  # int8 channels in the 32-bit word that a PE consumes
GLB_WORD_BYTES = 8  # a GLB word holds 8 channels of one pixel, or of one filter tap


@dataclass(frozen=True)
class MachineConfig:
    """Sizes of one machine.

    rows, cols          PEs; rows is a multiple of 3
    multipliers         per PE: 4 (a word in one cycle) or 1 (a word in four)
    glb_banks           single-port banks, a power of two; word addresses are interleaved over them
    glb_bank_words      64-bit words in a bank
    psum_words          32-bit partial sums in one half of a PE's psum buffer
    filter_words        32-bit filter words a PE holds (two copies of 4 filters x 3 taps)
    ifmap_words         32-bit ifmap words a PE prefetches for depthwise and convolution
    pixel_words         32-bit ifmap words a PE holds for pointwise work (4 in use, 4 in the shadow)
    word_buffer_words   32-bit depthwise results a SUPER keeps, a power of two
    bus_words           64-bit words in a beat of the DRAM port: 1 or 2
    filter_lanes        filter words that the GLB gives to the array in a cycle: 1 or 2
    clock_hz            nominal clock, for time and energy
    """

    rows: int = 6
    cols: int = 8
    multipliers: int = 4
    glb_banks: int = 8
    glb_bank_words: int = 1024
    psum_words: int = 128
    filter_words: int = 24
    ifmap_words: int = 9
    pixel_words: int = 8
    word_buffer_words: int = 256
    bus_words: int = 1
    filter_lanes: int = 1
    clock_hz: int = 200_000_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} = {value}: must be at least 1")
        if self.rows % SET_ROWS or self.rows < SET_ROWS:
            raise ValueError(f"rows = {self.rows}: must be a positive multiple of {SET_ROWS}")
        if self.multipliers not in (1, WORD_CHANNELS):
            raise ValueError(f"multipliers = {self.multipliers}: must be 1 or {WORD_CHANNELS}")
        for name in ("bus_words", "filter_lanes"):
            if getattr(self, name) not in (1, 2):
                raise ValueError(f"{name} = {getattr(self, name)}: must be 1 or 2")
        for name, least in (("glb_banks", 2), ("glb_bank_words", 2), ("word_buffer_words", MIN_WORD_BUFFER)):
            value = getattr(self, name)
            if value < least or value & (value - 1):
                raise ValueError(f"{name} = {value}: must be a power of two, at least {least}")
        for name in ("psum_words", "filter_words", "ifmap_words", "pixel_words", "word_buffer_words"):
            value = getattr(self, name)
            if value > MAX_PE_WORDS:
                raise ValueError(f"{name} = {value}: must be at most {MAX_PE_WORDS}")
        if self.rows > MAX_ROWS:
            raise ValueError(f"rows = {self.rows}: must be at most {MAX_ROWS}")
        if self.rows * self.cols > MAX_PES:
            raise ValueError(f"rows x cols = {self.rows * self.cols}: must be at most {MAX_PES}")
        if self.glb_words > MAX_GLB_WORDS:
            raise ValueError(
                f"glb_banks x glb_bank_words = {self.glb_words}: must be at most {MAX_GLB_WORDS}")

    @property
    def sets(self) -> int:
        """PE sets stacked vertically."""
        return self.rows // SET_ROWS

    @property
    def glb_words(self) -> int:
        return self.glb_banks * self.glb_bank_words

    @property
    def glb_bytes(self) -> int:
        return self.glb_words * GLB_WORD_BYTES

    @property
    def total_multipliers(self) -> int:
        return self.rows * self.cols * self.multipliers

    @classmethod
    def load(cls, path: str | Path) -> "MachineConfig":
        """Reads a JSON object of parameters; those not given keep their default.

        Raises ValueError, in one line, for an unknown name, a value that is not an integer or one
        that is out of range.
        """
        values = read_json(path, "give a JSON file with machine parameters")
        if not isinstance(values, dict):
            raise ValueError(f"{path}: must be a JSON object, parameter by parameter")
        with about(path):
            return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "MachineConfig":
        """From what JSON holds, parameter by parameter. Raises ValueError as `load` does."""
        known = sorted(field.name for field in fields(cls))
        for name, value in values.items():
            if name not in known:
                raise ValueError(unknown("parameter", name, known))
            if type(value) is not int:
                raise ValueError(f"{name} must be an integer, is {json.dumps(value)}")
        return cls(**values)

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


DEFAULT = MachineConfig()
