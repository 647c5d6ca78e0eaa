# SPDX-License-Identifier: Apache-2.0
"""Operators, by family: attributes, the shapes and types that they make, and their golden models.

operator     what all have in common; Unknown, which nothing can do
convolution  CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED
pooling      AVERAGE_POOL_2D, MAX_POOL_2D, MEAN
elementwise  ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU
tables       functions of one value
movement     what puts values in other places
host         SOFTMAX, ARG_MAX, RESIZE_BILINEAR, float to int8 and back
"""
