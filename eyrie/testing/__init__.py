# SPDX-License-Identifier: Apache-2.0
"""Code that commands and test benches share: the list of simulations, random layers and configurations, references."""
