# SPDX-License-Identifier: Apache-2.0
"""The bundled files of Eyrie: a network, its float weights, a photo."""

from eyrie.runtime.folders import ROOT

MODEL = ROOT / "data" / "mobilenetv1_cifar10" / "mobilenetv1_cifar10.tflite"
FLOAT_WEIGHTS = MODEL.with_name("mobilenetv1_cifar10_float.npz")
SMALL_CONFIG = ROOT / "data" / "configurations" / "small.json"  # 6 x 4 PEs; a decoder of weights
PHOTO = ROOT / "data" / "photos" / "cat.png"
