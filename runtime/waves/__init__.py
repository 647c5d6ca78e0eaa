# SPDX-License-Identifier: Apache-2.0
"""Waveforms of simulation tests: the signals to look at first, for viewers and as a picture."""
