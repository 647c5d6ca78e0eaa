# SPDX-License-Identifier: Apache-2.0
"""Descriptors of the operator library: settings of tensors, filters and operators.

A descriptor is created, set (any number of times), read and destroyed. A call uses the setting at that moment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Generic, TypeVar

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.normalization import LocalResponseNormalization
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.operators.status import OperatorError, Status

Pair = tuple[int, int]
LARGEST = float(np.finfo(np.float32).max)


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
        _quantization(self.scale, self.zero_point)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.n, self.h, self.w, self.c

    @property
    def layout(self) -> FeatureMap:
        """Return the memory layout of one of its maps in DRAM."""
        return FeatureMap(self.h, self.w, word_groups(self.c), 0, self.h)

    @property
    def map_bytes(self) -> int:
        return self.layout.words * GLB_WORD_BYTES

    @property
    def bytes(self) -> int:
        """Return the bytes in DRAM: rows of [group of 8 channels][x], x even."""
        return self.n * self.map_bytes

    def tensor(self, name: str) -> Quantized:
        """Return the tensor of one of its maps."""
        return Quantized(
            name=name,
            shape=(1, self.h, self.w, self.c),
            dtype="int8",
            quantization=Quantization(self.scale, self.zero_point),
        )


@dataclass(frozen=True)
class FilterSetting:
    """int8 [m, r, s, c], c the channels of a group; fully connected layers have r = s = 1. scales: one for all filters,
    or one for each.
    """

    m: int
    r: int
    s: int
    c: int
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        _positive(m=self.m, r=self.r, s=self.s, c=self.c)
        if not isinstance(self.scales, tuple):
            raise InputError(f"scales = {self.scales}: must be a tuple of one number, or of {self.m}")
        _numbers(**{f"scale {n}": scale for n, scale in enumerate(self.scales)})
        if len(self.scales) not in (1, self.m) or not all(np.float32(scale) > 0 for scale in self.scales):
            raise InputError(f"{len(self.scales)} scales for {self.m} filters: give one, or one of each, all positive")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.m, self.r, self.s, self.c

    @property
    def bytes(self) -> int:
        """Return the bytes in DRAM, in C order."""
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
        if not isinstance(self.activation, str):
            raise InputError(f"activation = {self.activation}: must be a name")
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

    def __post_init__(self) -> None:
        if not isinstance(self.function, str):
            raise InputError(f"function = {self.function}: must be a name")
        _numbers(alpha=self.alpha)


@dataclass(frozen=True)
class NormalizationSetting:
    """Local response normalisation: y = x / (k + alpha * sums) ^ beta. The sums are the squares of the values of
    2 * radius + 1 channels; alpha, beta and k are positive."""

    radius: int
    alpha: float
    beta: float
    k: float

    def __post_init__(self) -> None:
        _positive(radius=self.radius)
        _numbers(alpha=self.alpha, beta=self.beta, k=self.k)
        LocalResponseNormalization(radius=self.radius, alpha=self.alpha, beta=self.beta, k=self.k)


@dataclass(frozen=True)
class LstmSetting:
    """The sums of the gates of an LSTM cell; a value q stands for scale * (q - zero_point)."""

    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        _quantization(self.scale, self.zero_point)


def _plain(value: object) -> object:
    """Return a value of a caller with Python's integers in the place of NumPy's, and tuples in the place of lists and
    arrays of numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        plain = tuple(map(_plain, value))
        return plain if all(isinstance(each, int | float) for each in plain) else value
    return int(value) if isinstance(value, np.integer) else value


def _numbers(**values: object) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise InputError(f"{name} = {value}: must be a number")
        if not -LARGEST <= value <= LARGEST:
            raise InputError(f"{name} is too large for float32, or no number")


def _quantization(scale: float, zero_point: int) -> None:
    _numbers(scale=scale)
    if type(zero_point) is not int:
        raise InputError(f"zero_point = {zero_point}: must be an integer")
    Quantization(scale, zero_point)


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


Setting = TypeVar("Setting")


class _Descriptor(Generic[Setting]):
    """A descriptor that can be created, set, read and destroyed. The constructor may set it at once."""

    kind: Callable[..., Setting]

    def __init_subclass__(cls) -> None:
        """Give the methods the signature and the docstring of the setting."""
        for name, what in (("set", "Set it"), ("__init__", "Create it; without arguments it is not set yet")):
            setattr(cls, name, _with_fields(getattr(cls, name), cls.kind, what))

    def __init__(self, *values: object, **named: object) -> None:
        self._setting: Setting | None = None
        self._destroyed = False
        if values or named:
            self.set(*values, **named)

    def set(self, *values: object, **named: object) -> None:
        if self._destroyed:
            raise OperatorError(Status.BAD_DESCRIPTOR, f"{type(self).__name__} is destroyed: create another one")
        try:
            plain = {name: _plain(value) for name, value in named.items()}
            self._setting = self.kind(*map(_plain, values), **plain)
        except (TypeError, ValueError) as error:
            said = " ".join(str(error).replace(f"{self.kind.__name__}.__init__() ", "").split())
            raise OperatorError(Status.BAD_ARGUMENT, f"{type(self).__name__}: {said}") from error

    def get(self) -> Setting:
        """Return the setting. Raise OperatorError if the descriptor has none."""
        if self._setting is None:
            raise OperatorError(
                Status.BAD_DESCRIPTOR, f"{type(self).__name__} is {'destroyed' if self._destroyed else 'not set'}"
            )
        return self._setting

    def destroy(self) -> None:
        self._setting, self._destroyed = None, True


def _with_fields(function: Callable[..., None], kind: Callable[..., object], what: str) -> Callable[..., None]:
    """Return the function with the fields of a setting as its signature."""

    @wraps(function)
    def made(self: object, *values: object, **named: object) -> None:
        function(self, *values, **named)

    this = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    of = signature(kind)
    vars(made)["__signature__"] = of.replace(parameters=[this, *of.parameters.values()])
    made.__doc__ = f"{what}. Raise OperatorError.\n\n{kind.__doc__ or ''}"
    return made


def setting_of(name: str, descriptor: object, *kinds: type[_Descriptor[Setting]]) -> Setting:
    """Return the setting of a descriptor. Raise OperatorError if the argument `name` is not one of these kinds."""
    if not isinstance(descriptor, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise OperatorError(Status.BAD_ARGUMENT, f"{name} is of type {type(descriptor).__name__}, must be a {wanted}")
    return descriptor.get()


def placed(name: str, pair: object, kind: type[_Descriptor[Setting]]) -> tuple[Setting, int]:
    """Return the setting of a descriptor, and the offset. Raise OperatorError if argument `name` is no such pair."""
    if not isinstance(pair, tuple | list) or len(pair) != 2 or type(pair[1]) is not int:
        raise OperatorError(
            Status.BAD_ARGUMENT, f"{name} is of type {type(pair).__name__}, must be a {kind.__name__} and an offset"
        )
    return setting_of(name, pair[0], kind), pair[1]


class TensorDescriptor(_Descriptor):
    """A descriptor of a tensor: int8 [n, h, w, c], with a scale and a zero point."""

    kind = TensorSetting


class FilterDescriptor(_Descriptor):
    """A descriptor of filters: int8 [m, r, s, c], with one scale for all, or one for each."""

    kind = FilterSetting


class ConvolutionDescriptor(_Descriptor):
    """A descriptor of a convolution: stride, dilation, pads, groups, and the fused activation."""

    kind = ConvolutionSetting


class PoolingDescriptor(_Descriptor):
    """A descriptor of a pooling: its kind, kernel, stride and pads."""

    kind = PoolingSetting


class ActivationDescriptor(_Descriptor):
    """A descriptor of an activation: its function, and the slope of LEAKY_RELU."""

    kind = ActivationSetting


class NormalizationDescriptor(_Descriptor):
    """A descriptor of a local response normalisation: radius, alpha, beta and k."""

    kind = NormalizationSetting


class LstmDescriptor(_Descriptor):
    """A descriptor of an LSTM cell: scale and zero point of the sums of its gates."""

    kind = LstmSetting
