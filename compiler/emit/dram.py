# SPDX-License-Identifier: Apache-2.0
"""DRAM as it fills: constants and tensors, and where they begin."""

from hashlib import sha256

import numpy as np

from eyrie.model.config import GLB_WORD_BYTES


class DramLayout:
    """Constants and tensors in DRAM, one behind the other, at multiples of 64 bytes."""

    def __init__(self) -> None:
        self.end = 0
        self.parts: list[tuple[int, np.ndarray]] = []  # addresses and words of constants
        self.areas: dict[str, tuple[int, int]] = {}  # addresses and bytes
        self._constants: dict[tuple[str, bytes], int] = {}  # addresses by name and digest

    def constant(self, name: str, words: np.ndarray) -> int:
        """The address of constants; the same ones of several images or strips lie there once."""
        key = name, sha256(np.ascontiguousarray(words).data).digest()
        if key not in self._constants:
            count = sum(name == other for other, _ in self._constants)
            self._constants[key] = self.area(f"{name}.{count}" if count else name, words.size)
            self.parts.append((self._constants[key], words.ravel()))
        return self._constants[key]

    def area(self, name: str, words: int) -> int:
        address = self.end
        self.areas[name] = (address, words * GLB_WORD_BYTES)
        self.end += -(-words * GLB_WORD_BYTES // 64) * 64
        return address
