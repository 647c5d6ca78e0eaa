# SPDX-License-Identifier: Apache-2.0
"""Python's cyclic garbage collector, which the compiler does not need."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the collector off: a compilation makes millions of objects, hardly any of them in cycles, and the search
    for cycles takes 5 to 10 % of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
