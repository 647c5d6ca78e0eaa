# SPDX-License-Identifier: Apache-2.0
"""The reasons for the cycles of layers, in words (docs/start/report.md)."""
