# SPDX-License-Identifier: Apache-2.0
"""The results of all campaigns in one SQLite file, by key. Each result is on the disk before the next one is stored."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from eyrie.measure import Entry
from eyrie.model.errors import InputError

BUSY_S = 60  # time that another process may take to write
_TABLE = (
    "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, name TEXT, entry TEXT, "
    "made TEXT DEFAULT CURRENT_TIMESTAMP)"
)


class Store:
    """A file of results. Several processes may use it at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: list[str]) -> list[Entry | None]:
        """Return the entries of keys, None for a key that is not stored."""
        if not self.path.exists():
            return [None] * len(keys)
        with self._open() as database:
            found = (database.execute("SELECT entry FROM results WHERE key = ?", (key,)).fetchone() for key in keys)
            return [json.loads(row[0]) if row else None for row in found]

    def put(self, key: str, name: str, entry: Entry) -> None:
        """Store an entry. Raise InputError, with one line, if the file cannot be written."""
        with self._open() as database, database:
            database.execute(
                "INSERT OR REPLACE INTO results (key, name, entry) VALUES (?, ?, ?)", (key, name, json.dumps(entry))
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as database:
                database.execute(_TABLE)
                yield database
        except sqlite3.OperationalError as error:
            remedy = "end the other campaign" if "locked" in str(error) else "make room there, or set EYRIE_BUILD"
            raise InputError(f"{self.path}: cannot be used ({error}): {remedy}") from error
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path}: is damaged ({error}): remove it, and run the command again") from error
