# SPDX-License-Identifier: Apache-2.0
"""Exploration of a design space: cost of models on many configurations of the accelerator."""
