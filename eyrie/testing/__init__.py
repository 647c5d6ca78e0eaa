# SPDX-License-Identifier: Apache-2.0
"""Code that commands and testbenches share: the list of simulations, random layers and configurations, references."""
