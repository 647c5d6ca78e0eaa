# SPDX-License-Identifier: Apache-2.0
"""The commands of `eyrie`: a module for each, named like the command (eyrie/__main__.py lists them)."""
