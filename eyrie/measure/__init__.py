# SPDX-License-Identifier: Apache-2.0
"""Measurements that commands share: trials of models, campaigns, thresholds, mutations of the RTL, studies."""
