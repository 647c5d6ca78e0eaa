# SPDX-License-Identifier: Apache-2.0
"""Layers at the sizes that the accelerator is made for: 512 columns, 512 rows, 4,096 channels, 32,768 inputs of a fully
connected layer; and maps of thousands of rows or columns, whose coordinates need all their bits."""

from tb.net.random_layers import Layer

COLUMNS, ROWS, CHANNELS, INPUTS = 512, 512, 4096, 32768

LAYERS = [
    Layer("convolution", 3, COLUMNS, 3, 8, 3, 2),
    Layer("convolution", 4, COLUMNS, 8, 16, 3, 1),
    Layer("convolution", 3, COLUMNS, 4, 8, 1, 2),
    Layer("separable", 3, COLUMNS, 8, 16, 3, 1),
    Layer("depthwise", 3, COLUMNS, 8, 0, 3, 2),
    Layer("pointwise", 2, COLUMNS, 8, 16),
    Layer("convolution", ROWS, 4, 8, 16, 3, 1),
    Layer("convolution", ROWS, 2, 4, 8, 1, 2),
    Layer("separable", ROWS, 3, 8, 16, 3, 2),
    Layer("depthwise", ROWS, 3, 8, 0, 3, 1),
    Layer("pointwise", ROWS, 2, 8, 16),
    Layer("pointwise", 1, 2100, 8, 8),  # coordinates of more than 2,047
    Layer("pointwise", 2500, 1, 8, 8),
    Layer("convolution", 1, 3000, 8, 8, 3, 1),
    Layer("separable", 2200, 1, 8, 8, 2, 2),
    Layer("convolution", 2, 2, CHANNELS, 8, 3, 1),
    Layer("convolution", 16, 16, 128, 64, 3, 1),  # filters larger than the GLB
    Layer("pointwise", 2, 2, CHANNELS, 16),
    Layer("pointwise", 2, 2, 16, CHANNELS),
    Layer("separable", 2, 2, 8, CHANNELS, 3, 1),
    Layer("fully connected", 1, 1, CHANNELS, 64),
    Layer("fully connected", 1, 1, 8, CHANNELS),
    Layer("fully connected", 1, 1, INPUTS, 10),
]
LARGEST_MAP = Layer("convolution", ROWS, COLUMNS, 3, 8, 3, 2)  # both at once
