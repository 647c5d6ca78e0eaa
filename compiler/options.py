# SPDX-License-Identifier: Apache-2.0
"""Options of a compilation. Imports no module, so that a command line can report errors fast."""

OBJECTIVES = ("cycles", "bytes", "energy")  # that a plan can minimise
SEARCH_ITERATIONS = 800  # arrangements of the maps in the GLB that are tried
MOST_IMAGES = 16  # of a run
MOST_SEED = 2**31 - 2  # of random values
