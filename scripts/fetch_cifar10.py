"""Download CIFAR-10 (163 MB) from its official address and check it.

    python scripts/fetch_cifar10.py DIR
"""

import hashlib
import sys
import urllib.request
from pathlib import Path

from cifar10 import ARCHIVE

URL = f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}"
MD5 = "c58f30108f718f92721af3b95e74349a"
CHUNK = 1 << 20


def fetch(directory: Path, url: str = URL, md5: str = MD5) -> Path:
    """Download into `directory` unless it is there already, and return the archive's path.

    The file gets its name only once the checksum is right, so a broken download leaves nothing.
    Raises ValueError for a wrong checksum, OSError if the address or the disk fails.
    """
    target = directory / ARCHIVE
    if target.exists() and hashlib.md5(target.read_bytes()).hexdigest() == md5:
        return target
    part, digest, done = target.with_suffix(".part"), hashlib.md5(), 0
    try:
        with urllib.request.urlopen(url, timeout=60) as source:
            directory.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as sink:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    done += sink.write(chunk)
                    print(f"\r{done >> 20} MiB", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        if digest.hexdigest() != md5:
            raise ValueError(f"md5 {digest.hexdigest()}, expected {md5}; try again")
        return part.replace(target)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_cifar10.py DIR")
    try:
        print(fetch(Path(sys.argv[1])))
    except (OSError, ValueError) as error:
        sys.exit(f"fetch_cifar10: cannot fetch {URL}: {error}")
