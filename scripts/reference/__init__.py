# SPDX-License-Identifier: Apache-2.0
"""The generated pages of docs/reference/: each module of this package writes one or more of them."""
