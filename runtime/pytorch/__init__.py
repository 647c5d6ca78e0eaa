# SPDX-License-Identifier: Apache-2.0
"""Eyrie as a back end of torch.compile, and what makes int8 models of float ones (docs/pytorch.md).

    backend     an FX graph whose regions run on the machine
    region      one of them
    tensors     parameters and buffers of a graph
    report      what ran where
    quantizer   which scales a model gets (PT2E)
    convert     a float model and images -> int8 model, .tflite
"""
