# SPDX-License-Identifier: Apache-2.0
"""Build the documentation as a site in build/site; a warning is an error.

    eyrie docs [-o DIR]

The source is docs/ and mkdocs.yml. The command needs the extra `docs` (make extra-docs). Open index.html in a browser.
The search needs a web server, for example `python3 -m http.server --directory build/site`.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from eyrie.compiler.command_line import file_name
from eyrie.model.errors import InputError

MKDOCS = (sys.executable, "-P", "-m", "mkdocs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=file_name, metavar="DIR", help="folder of the site (build/site)")


def run(options: argparse.Namespace) -> int:
    from eyrie.compiler.frontend.extra import require
    from eyrie.runtime import progress
    from eyrie.runtime.folders import BUILD, checkout, replacing

    root = checkout("the pages of the documentation")
    require("mkdocs", "docs")
    require("material", "docs")
    site = Path(options.output or BUILD / "site").absolute()
    command = [*MKDOCS, "build", "--strict", "--config-file", str(root / "mkdocs.yml"), "--site-dir"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "true"}  # the theme's notice about another program
    with replacing(site) as folder, progress.task("building the site"):
        built = subprocess.run([*command, str(folder)], cwd=root, env=environment, capture_output=True, text=True)
        if built.returncode:
            print("\n".join(line for line in built.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))))
            raise InputError("the site has errors: correct the pages that are listed above")
    print(site / "index.html")
    return 0
