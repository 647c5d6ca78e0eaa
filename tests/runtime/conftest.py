# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from eyrie.operators import Handle


@pytest.fixture(scope="module")
def handle() -> Iterator[Handle]:
    """The operator library on an accelerator of the module's own."""
    with Handle() as found:
        yield found
