# SPDX-License-Identifier: Apache-2.0
"""What a compilation can be asked for. Imports nothing, so that a command line is quick to reject."""

OBJECTIVES = ("cycles", "bytes", "energy")  # that a plan can minimise
SEARCH_ITERATIONS = 800  # arrangements of the maps in the GLB that are tried
MOST_IMAGES = 16  # of a run
