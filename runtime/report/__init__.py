# SPDX-License-Identifier: Apache-2.0
"""The report of a network run as one HTML page with its plots (docs/start/report.md)."""

from eyrie.runtime.report.page import write

__all__ = ["write"]
