# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many tasks on the processors of this computer, or on a Dask cluster, with stored results."""
