# SPDX-License-Identifier: Apache-2.0
"""What operators are told: tensors, filters, and the operators themselves. A descriptor is created, set (again, if one
likes), got and destroyed; a call takes what it says at that moment."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.tensor import Quantized
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.operators.status import OperatorError, Status

Pair = tuple[int, int]


@dataclass(frozen=True)
class TensorSetting:
    """int8 [n, h, w, c]; a value q stands for scale * (q - zero_point)."""

    n: int
    h: int
    w: int
    c: int
    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        _positive(n=self.n, h=self.h, w=self.w, c=self.c)
        Quantization(self.scale, self.zero_point)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.n, self.h, self.w, self.c

    @property
    def layout(self) -> FeatureMap:
        """Of one of its maps in DRAM."""
        return FeatureMap(self.h, self.w, word_groups(self.c), 0, self.h)

    @property
    def map_bytes(self) -> int:
        return self.layout.words * GLB_WORD_BYTES

    @property
    def bytes(self) -> int:
        """In DRAM: rows of [group of 8 channels][x], x even."""
        return self.n * self.map_bytes

    def tensor(self, name: str) -> Quantized:
        """Of one of its maps."""
        return Quantized(
            name=name,
            shape=(1, self.h, self.w, self.c),
            dtype="int8",
            quantization=Quantization(self.scale, self.zero_point),
        )


@dataclass(frozen=True)
class FilterSetting:
    """int8 [m, r, s, c], c the channels of a group; of fully connected layers r and s are 1. scales: of all filters, or
    of each."""

    m: int
    r: int
    s: int
    c: int
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        _positive(m=self.m, r=self.r, s=self.s, c=self.c)
        if len(self.scales) not in (1, self.m) or not all(0 < scale < np.inf for scale in self.scales):
            raise InputError(f"{len(self.scales)} scales for {self.m} filters: give one, or one of each, all positive")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.m, self.r, self.s, self.c

    @property
    def bytes(self) -> int:
        """In DRAM, in C order."""
        return self.m * self.r * self.s * self.c


@dataclass(frozen=True)
class ConvolutionSetting:
    """groups: of channels, each with filters of its own; as many as channels: depthwise. pads: top, bottom, left,
    right; activation, fused: NONE, RELU, RELU6 or RELU_N1_TO_1."""

    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    activation: str = "NONE"

    def __post_init__(self) -> None:
        _positive(groups=self.groups)
        _integers(2, 1, stride=self.stride, dilation=self.dilation)
        _integers(4, 0, pads=self.pads)


@dataclass(frozen=True)
class PoolingSetting:
    """kind: max or average."""

    kind: str
    kernel: Pair
    stride: Pair
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        if self.kind not in ("max", "average"):
            raise InputError(f"a pooling is max or average, not {self.kind}")
        _integers(2, 1, kernel=self.kernel, stride=self.stride)
        _integers(4, 0, pads=self.pads)


@dataclass(frozen=True)
class ActivationSetting:
    """function: RELU, RELU6, RELU_N1_TO_1, LEAKY_RELU (of slope alpha), LOGISTIC, TANH, HARD_SWISH, ELU or EXP."""

    function: str
    alpha: float = 0.0


def _positive(**sizes: int) -> None:
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise InputError(f"{name} = {size}: must be an integer of at least 1")


def _integers(count: int, least: int, **values: tuple) -> None:
    for name, found in values.items():
        if (
            not isinstance(found, tuple)
            or len(found) != count
            or not all(type(value) is int and value >= least for value in found)
        ):
            raise InputError(f"{name} = {found}: must be a tuple of {count} integers of at least {least}")


class _Descriptor:
    """create: the constructor, which may set it at once."""

    kind: type

    def __init__(self, *values: object, **named: object) -> None:
        self._setting, self._destroyed = None, False
        if values or named:
            self.set(*values, **named)

    def set(self, *values: object, **named: object) -> None:
        """As the fields of its setting. Raises OperatorError."""
        if self._destroyed:
            raise OperatorError(Status.BAD_DESCRIPTOR, f"{type(self).__name__} is destroyed: create another one")
        try:
            self._setting = self.kind(*values, **named)
        except (TypeError, InputError) as error:
            raise OperatorError(Status.BAD_ARGUMENT, f"{type(self).__name__}: {error}") from error

    def get(self):
        """Its setting. Raises OperatorError where there is none."""
        if self._setting is None:
            raise OperatorError(
                Status.BAD_DESCRIPTOR, f"{type(self).__name__} is {'destroyed' if self._destroyed else 'not set'}"
            )
        return self._setting

    def destroy(self) -> None:
        self._setting, self._destroyed = None, True


class TensorDescriptor(_Descriptor):
    kind = TensorSetting


class FilterDescriptor(_Descriptor):
    kind = FilterSetting


class ConvolutionDescriptor(_Descriptor):
    kind = ConvolutionSetting


class PoolingDescriptor(_Descriptor):
    kind = PoolingSetting


class ActivationDescriptor(_Descriptor):
    kind = ActivationSetting
