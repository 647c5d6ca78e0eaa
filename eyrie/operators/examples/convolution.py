# SPDX-License-Identifier: Apache-2.0
"""A convolution on the accelerator, operator by operator: figure 3.5 of DLPlib, with its parameters and a check."""

import numpy as np

from eyrie.model.operators.convolution import conv2d
from eyrie.model.operators.quantization import Quantization, requantization
from eyrie.operators import ConvolutionDescriptor, FilterDescriptor, Handle, TensorDescriptor

rng = np.random.default_rng(1)
image = rng.integers(-128, 128, (1, 14, 14, 16)).astype(np.int8)
weights = rng.integers(-127, 128, (24, 3, 3, 16)).astype(np.int8)

# device handle
handle = Handle()
# create data
input_descriptor = TensorDescriptor(1, 14, 14, 16, scale=0.02, zero_point=3)
filter_descriptor = FilterDescriptor(24, 3, 3, 16, scales=(0.005,))
output_descriptor = TensorDescriptor(1, 14, 14, 24, scale=0.1, zero_point=-7)
source = handle.malloc(input_descriptor.get().bytes)
handle.copy_to(source, image, input_descriptor)
filters = handle.malloc(filter_descriptor.get().bytes)
handle.copy_to(filters, weights, filter_descriptor)
output = handle.malloc(output_descriptor.get().bytes)
# create descriptor for convolution
convolution = ConvolutionDescriptor(stride=(1, 1), pads=(1, 1, 1, 1))
# execute convolution forward
handle.convolution(
    convolution, (input_descriptor, source), (filter_descriptor, filters), None, (output_descriptor, output)
)
values = handle.copy_from(output, output_descriptor)
cycles = handle.stream.cycles
# free
handle.free(source)
handle.free(output)
handle.free(filters)
for descriptor in (input_descriptor, filter_descriptor, output_descriptor, convolution):
    descriptor.destroy()
handle.destroy()

rescale = requantization(Quantization(0.02, 3), np.full(24, 0.005, np.float32), Quantization(0.1, -7), "NONE")
golden = conv2d(image, weights, np.zeros(24, np.int32), 3, rescale, (1, 1), (1, 1, 1, 1), (1, 1))
print(f"{cycles:,} cycles, {'equal to' if np.array_equal(values, golden) else 'UNLIKE'} the golden model")
