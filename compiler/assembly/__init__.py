# SPDX-License-Identifier: Apache-2.0
"""Assembly: programs as text, and sources that schedule commands by hand."""
