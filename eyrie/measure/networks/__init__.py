# SPDX-License-Identifier: Apache-2.0
"""Published networks with random weights, as .tflite files: MobileNets, networks from architecture search, ResNet-50,
WaveNet, and classic networks."""
