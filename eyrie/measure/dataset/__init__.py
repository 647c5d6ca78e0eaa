# SPDX-License-Identifier: Apache-2.0
"""A data set of mappings: random layers on the RTL, with their costs."""
