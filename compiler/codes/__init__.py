# SPDX-License-Identifier: Apache-2.0
"""Lossless codes of weights: the choice of a code, and its encoder."""
