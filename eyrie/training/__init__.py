# SPDX-License-Identifier: Apache-2.0
"""The bundled network from CIFAR-10 to an int8 .tflite file: data, float network, training, quantisation."""
