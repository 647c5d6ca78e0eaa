# SPDX-License-Identifier: Apache-2.0
"""`python -m eyrie`: the command line."""

import sys

from eyrie.command_line import main

sys.exit(main())
