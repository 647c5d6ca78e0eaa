# SPDX-License-Identifier: Apache-2.0
"""Networks as portable C (compiler/c), built with the C compiler of this computer and run on arrays."""
