# SPDX-License-Identifier: Apache-2.0
"""Programs as text, and sources of people who schedule by hand."""
