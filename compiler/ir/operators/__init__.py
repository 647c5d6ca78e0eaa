# SPDX-License-Identifier: Apache-2.0
"""Operators, by family: attributes, shape and type inference, and golden models.

operator     the base class; Unknown, an unsupported operator
convolution  CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED
pooling      AVERAGE_POOL_2D, MAX_POOL_2D, MEAN
elementwise  ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU
tables       functions of one value
movement     data-movement operators
host         SOFTMAX, ARG_MAX, RESIZE_BILINEAR, float to int8 and back
"""
