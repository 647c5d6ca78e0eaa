# SPDX-License-Identifier: Apache-2.0
"""The result of a compilation, and its files."""
