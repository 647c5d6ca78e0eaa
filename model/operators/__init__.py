# SPDX-License-Identifier: Apache-2.0
"""Int8 operators of TensorFlow Lite's reference kernels in NumPy, bit for bit, by family.

reference     the two sets of reference kernels
quantization  scales, zero points, fused activations, from int32 sums to int8; uint8 as int8
windows       padding and windows of maps
convolution   CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED
pooling       AVERAGE_POOL_2D, MAX_POOL_2D, MEAN
elementwise   ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU
tables        functions of one value, as 256 entries
movement      data movement: operators that only rearrange values
host          SOFTMAX, ARG_MAX, RESIZE_BILINEAR, float to int8 and back
fixed_point   exp, logistic and tanh of fixed-point numbers

Activations of any shape are int8 arrays; maps are [H, W, C] or [N, H, W, C] and results keep the leading axes. A uint8
tensor is its int8 tensor (`quantization.from_uint8`), with a zero point that is 128 less.
"""
