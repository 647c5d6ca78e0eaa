# SPDX-License-Identifier: Apache-2.0
"""Operators one by one on the accelerator (docs/howto/operators.md)."""

from eyrie.operators.descriptors import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    LstmDescriptor,
    NormalizationDescriptor,
    PoolingDescriptor,
    TensorDescriptor,
)
from eyrie.operators.handle import Handle
from eyrie.operators.status import OperatorError, Status
from eyrie.operators.stream import Ran, Stream

__all__ = [
    "ActivationDescriptor",
    "ConvolutionDescriptor",
    "FilterDescriptor",
    "Handle",
    "LstmDescriptor",
    "NormalizationDescriptor",
    "OperatorError",
    "PoolingDescriptor",
    "Ran",
    "Status",
    "Stream",
    "TensorDescriptor",
]
