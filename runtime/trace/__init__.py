# SPDX-License-Identifier: Apache-2.0
"""Traces of the RTL: the work of each unit in each cycle, and the predicted schedule, as a Perfetto trace file."""
