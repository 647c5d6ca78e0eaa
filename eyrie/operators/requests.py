# SPDX-License-Identifier: Apache-2.0
"""Requests of operators by C programs (runtime/c/eyrie.h): the files that the programs write, as networks to compile.

A file has a line, the key, followed by scales, filters and bias. The key has the operator's name and the fields of its
descriptors, name=value. Numbers of single precision are their bits in hexadecimal digits. docs/howto/operators.md has
an example.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Operator
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.model.reading import read_file
from eyrie.operators import graphs
from eyrie.operators.descriptors import (
    ActivationSetting,
    ConvolutionSetting,
    FilterSetting,
    LstmSetting,
    NormalizationSetting,
    PoolingSetting,
    TensorSetting,
)
from eyrie.operators.status import OperatorError

REMEDY = "give a file that a program of the operator library left in SOC_REQUESTS"


@dataclass(frozen=True)
class Request:
    """An operator that a C program requests, and the configuration of its accelerator."""

    key: str
    graph: Graph
    config: AcceleratorConfig

    @property
    def name(self) -> str:
        return self.key.split()[0]


def read_request(path: Path) -> Request:
    """Read a request. Raise InputError, with one line, if the file is no request, and OperatorError for an unknown
    operator.
    """
    line, _, constants = read_file(path, REMEDY).partition(b"\n")
    with about(path):
        try:
            return _request(line.decode("ascii"), constants)
        except OperatorError:
            raise
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no request, or damaged: {REMEDY}") from error


def _request(key: str, constants: bytes) -> Request:
    name, *words = key.split(" ")
    fields = dict(word.split("=") for word in words)
    inputs = tuple(_tensor(fields[f"input{n}"]) for n in range(3) if f"input{n}" in fields)
    operator = _OPERATORS[name](fields, inputs[0], constants)
    sizes = dict(zip(DEFAULT.parameters, _integers(fields["config"]), strict=True))
    config = AcceleratorConfig.of({size.lower(): value for size, value in sizes.items()})
    outputs = (_tensor(fields[name]) for name in graphs.OUTPUTS if name in fields)
    return Request(key, graphs.graph_of(operator, inputs, *outputs), config)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _pair(text: str) -> tuple[int, int]:
    first, second = _integers(text)
    return first, second


def _four(text: str) -> tuple[int, int, int, int]:
    first, second, third, fourth = _integers(text)
    return first, second, third, fourth


def _real(digits: str) -> float:
    return float(np.array(int(digits, 16), np.uint32).view(np.float32))


def _tensor(text: str) -> TensorSetting:
    height, width, channels, scale, zero_point = text.split(",")
    return TensorSetting(1, int(height), int(width), int(channels), _real(scale), int(zero_point))


def _filters(fields: dict[str, str], constants: bytes) -> tuple[FilterSetting, np.ndarray, np.ndarray]:
    """Return the setting of the filters, their values, and the bias. Raise InputError if they do not match the key."""
    shape, count, has_bias = _integers(fields["filters"]), int(fields["scales"]), int(fields["bias"])
    size = int(np.prod(shape, dtype=object))
    parts = constants[: 4 * count], constants[4 * count :][:size], constants[4 * count + size :]
    digest = hashlib.sha256(parts[0])
    for part in parts[1 : 2 + has_bias]:
        digest.update(hashlib.sha256(part).digest())
    if digest.hexdigest() != fields["constants"] or len(parts[2]) != 4 * shape[0] * has_bias:
        raise InputError("scales, filters or bias do not match the key")
    setting = FilterSetting(*_four(fields["filters"]), tuple(map(float, np.frombuffer(parts[0], "<f4"))))
    bias = np.frombuffer(parts[2], "<i4") if has_bias else np.zeros(shape[0], np.int32)
    return setting, np.frombuffer(parts[1], np.int8).reshape(shape), bias


def _convolution(fields: dict[str, str], given: TensorSetting, constants: bytes) -> Operator:
    return graphs.convolution(_convolution_setting(fields), given, *_filters(fields, constants))


def _transposed_convolution(fields: dict[str, str], given: TensorSetting, constants: bytes) -> Operator:
    return graphs.transposed_convolution(_convolution_setting(fields), given, *_filters(fields, constants))


def _convolution_setting(fields: dict[str, str]) -> ConvolutionSetting:
    stride, dilation, pads = _pair(fields["stride"]), _pair(fields["dilation"]), _four(fields["pads"])
    return ConvolutionSetting(stride, dilation, pads, int(fields["groups"]), fields["fused"])


def _fully_connected(fields: dict[str, str], _given: TensorSetting, constants: bytes) -> Operator:
    return graphs.fully_connected(*_filters(fields, constants))


def _pooling(fields: dict[str, str], _given: TensorSetting, _constants: bytes) -> Operator:
    return graphs.pooling(
        PoolingSetting(fields["kind"], _pair(fields["kernel"]), _pair(fields["stride"]), _four(fields["pads"]))
    )


def _unpooling(fields: dict[str, str], given: TensorSetting, _constants: bytes) -> Operator:
    return graphs.unpooling(given, _tensor(fields["output"]))


def _activation(fields: dict[str, str], _given: TensorSetting, _constants: bytes) -> Operator:
    return graphs.activation(ActivationSetting(fields["function"], _real(fields["alpha"])))


def _arithmetic(fields: dict[str, str], _given: TensorSetting, _constants: bytes) -> Operator:
    return graphs.arithmetic(fields["kind"], fields["fused"])


def _local_response_normalization(fields: dict[str, str], _given: TensorSetting, _constants: bytes) -> Operator:
    values = (_real(fields[name]) for name in ("alpha", "beta", "k"))
    return graphs.local_response_normalization(NormalizationSetting(int(fields["radius"]), *values))


def _lstm_cell(fields: dict[str, str], _given: TensorSetting, constants: bytes) -> Operator:
    scale, zero_point = fields["sums"].split(",")
    return graphs.lstm_cell(LstmSetting(_real(scale), int(zero_point)), *_filters(fields, constants))


def _concatenation(_fields: dict[str, str], _given: TensorSetting, _constants: bytes) -> Operator:
    return graphs.concatenation()


_OPERATORS = {
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "fully_connected": _fully_connected,
    "pooling": _pooling,
    "unpooling": _unpooling,
    "activation": _activation,
    "arithmetic": _arithmetic,
    "concatenation": _concatenation,
    "local_response_normalization": _local_response_normalization,
    "lstm_cell": _lstm_cell,
}
