# SPDX-License-Identifier: Apache-2.0
"""python -m eyrie.litert: build the external delegate and print the path of its library."""

import sys

from eyrie.litert.external import library
from eyrie.model.errors import InputError
from eyrie.runtime.portable_c.executable import BuildError

try:
    print(library())
except (InputError, BuildError) as error:
    sys.exit(f"eyrie.litert: {error}")
