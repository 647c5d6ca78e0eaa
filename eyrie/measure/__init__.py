# SPDX-License-Identifier: Apache-2.0
"""Measurements that commands share: trials of models, campaigns, thresholds, mutations of the RTL, studies."""

from typing import Any

Entry = dict[str, Any]  # an object of a JSON file, whose values have any type
